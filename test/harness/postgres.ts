/**
 * A real PostgreSQL server of the tests' own, in addition to those of the machine: in a temporary directory, on a free
 * port of loopback.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import type { Test } from 'tap'
import { findFreePort } from './free-port.js'

const run = promisify(execFile)

/** Occurs nowhere else in stored or logged text. */
export const user = 'keeper'
export const password = 'tops3cret/of+the&tests'

/** A running server. */
export interface PostgresServer {
  /** The URL of one of its databases. */
  readonly buildUrl: (database: string) => string
  /** Makes an empty database. @returns its URL */
  readonly createDatabase: () => Promise<string>
  /** One statement of the server's owner. */
  readonly query: (statement: string, values?: readonly unknown[]) => Promise<pg.QueryResultRow[]>
  /** The same in one of its databases. */
  readonly queryDatabase: (database: string, statement: string) => Promise<pg.QueryResultRow[]>
  /** Ends the server and all of its connections. */
  readonly stop: () => Promise<void>
  /** Kills it, as a crash would: nothing is ended or written. */
  readonly kill: () => Promise<void>
  /** Starts it again, on the same port. */
  readonly start: () => Promise<void>
}

/** Files in PEM by which a server speaks TLS. */
interface Certificate { readonly cert: string, readonly key: string }

/** Starts a server, which ends with the test; with a certificate it speaks TLS too. */
export async function startPostgres (t: Test, certificate?: Certificate): Promise<PostgresServer> {
  const owner = await findUnprivilegedUser()
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-postgres-'))
  const port = await findFreePort()
  let server: ChildProcess | undefined
  const start = async () => { server = await startServer({ directory, port, owner }) }
  const stop = async () => {
    if (server !== undefined && server.exitCode === null) await stopServer(server)
  }
  const kill = async () => {
    const closed = once(server!, 'close')
    process.kill(Number(readFileSync(join(directory, 'data', 'postmaster.pid'), 'utf8').split('\n', 1)[0]), 'SIGKILL')
    await closed
  }
  t.teardown(async () => {
    await stop()
    rmSync(directory, { recursive: true, force: true })
  })
  await initialize(directory, owner)
  if (certificate !== undefined) enableTls(join(directory, 'data'), certificate, owner)
  await start()
  const buildUrl = (database: string) => `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`
  const query = (statement: string, values?: readonly unknown[]) => runQuery(buildUrl('postgres'), statement, values)
  const queryDatabase = (database: string, statement: string) => runQuery(buildUrl(database), statement)
  let made = 0
  const createDatabase = async () => {
    const name = `test_${++made}`
    await query(`CREATE DATABASE ${name}`)
    return buildUrl(name)
  }
  return { buildUrl, createDatabase, query, queryDatabase, stop, kill, start }
}

interface Owner { readonly uid?: number, readonly gid?: number }

/** The server refuses to be run by root. */
async function findUnprivilegedUser (): Promise<Owner> {
  if (process.getuid?.() !== 0) return {}
  const readId = async (which: string) => Number((await run('id', [which, 'postgres'])).stdout)
  return { uid: await readId('-u'), gid: await readId('-g') }
}

async function initialize (directory: string, owner: Owner): Promise<void> {
  const passwordFile = join(directory, 'password')
  writeFileSync(passwordFile, password)
  if (owner.uid !== undefined) for (const path of [directory, passwordFile]) chownSync(path, owner.uid, owner.gid!)
  const options = [
    '--auth=scram-sha-256',
    `--username=${user}`,
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
    '--no-instructions'
  ]
  await run(findProgram('initdb'), [`--pgdata=${join(directory, 'data')}`, ...options], { ...owner, cwd: directory })
}

/** Durability does not matter here. */
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  lc_messages: 'C'
}

/** PostgreSQL accepts a key file only when no other user can read it. */
function enableTls (data: string, { cert, key }: Certificate, { uid, gid }: Owner): void {
  for (const [name, from] of [['server.crt', cert], ['server.key', key]] as const) {
    copyFileSync(from, join(data, name))
    chmodSync(join(data, name), 0o600)
    if (uid !== undefined) chownSync(join(data, name), uid, gid!)
  }
  appendFileSync(join(data, 'postgresql.conf'), 'ssl = on\n')
}

/** Ends the server fast when its input ends, which it does however the test's process ends. */
const watched =
  'exec 3<&0; "$@" 3<&- & server=$!; { cat <&3; kill -INT $server; } >/dev/null 2>&1 & exec 3<&-; wait $server'

interface ServerOptions { readonly directory: string, readonly port: number, readonly owner: Owner }

async function startServer ({ directory, port, owner }: ServerOptions): Promise<ChildProcess> {
  const args = [
    '-D',
    join(directory, 'data'),
    '-p',
    String(port),
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  ]
  const server = spawn('sh', ['-c', watched, 'sh', findProgram('postgres'), ...args], {
    ...owner,
    cwd: directory,
    stdio: ['pipe', 'ignore', 'pipe']
  })
  await new Promise<void>((resolve, reject) => {
    let output = ''
    server.once('error', reject)
    server.once('close', () => reject(new Error(`PostgreSQL ended: ${output}`)))
    server.stderr.setEncoding('utf8').on('data', text => {
      output = (output + text).slice(-2_000)
      if (output.includes('ready to accept connections')) resolve()
    })
  })
  return server
}

/** Stops at once, even with open connections. */
async function stopServer (server: ChildProcess): Promise<void> {
  const closed = once(server, 'close')
  server.stdin!.end()
  await closed
}

async function runQuery (
  url: string, statement: string, values: readonly unknown[] = []
): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(statement, [...values])).rows
  } finally {
    await client.end()
  }
}

/** On the PATH, or the newest where Debian and Ubuntu keep them. */
function findProgram (name: string): string {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...versions.map(version => join(debian, version, 'bin'))
  ]
  const found = folders.map(folder => join(folder, name)).find(existsSync)
  if (found === undefined) {
    throw new Error(`There is no ${name} on this machine. Install PostgreSQL, for example: apt-get install postgresql`)
  }
  return found
}
