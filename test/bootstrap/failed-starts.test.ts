import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import { lockDirectory } from '../../src/bootstrap/lock-directory.js'
import { initializeControlPlane } from '../../src/bootstrap/startup-message.js'
import { startProcess } from '../../src/bootstrap/process.js'
import { explainStartupError, withListenRemedy } from '../../src/bootstrap/startup-errors.js'
import { loadConfig } from '../../src/config/load.js'
import { openSqlite } from '../../src/control-plane/store/database/sqlite.js'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { buildMain } from '../harness/built.js'

const built = dirname(buildMain())

/** Runs a program of Node that can write no file beyond a number of blocks of 512 bytes. */
async function runWithSizeLimit (
  blocks: number, args: readonly string[], env: Record<string, string> = {}
): Promise<string> {
  const { PATH = '' } = process.env
  return await promisify(execFile)('sh', ['-c', `ulimit -f ${blocks}; exec "$0" "$@"`, process.execPath, ...args], {
    env: { PATH, ...env }
  }).then(
    ({ stdout }) => stdout,
    ({ stderr }: { stderr: string }) => stderr
  )
}

// It said "cannot rollback - no transaction is active" or "disk I/O error".
t.test('a start without disk space for its databases reports it', async t => {
  const CLINIGATE_DATA = t.testdir()
  for (const blocks of [0, 16, 64, 128]) {
    t.match(
      await runWithSizeLimit(blocks, [join(built, 'main.js')], { CLINIGATE_DATA, PORT: '0', LOG_LEVEL: 'silent' }),
      /^clinigate: the disk .*full.*make room/i,
      `${blocks} blocks`
    )
  }
})

// It said "getaddrinfo ENOTFOUND nope.invalid".
t.test('a start with an unknown host name names the setting', async t => {
  for (const code of ['ENOTFOUND', 'EAI_AGAIN']) {
    const error = Object.assign(new Error(`getaddrinfo ${code} nope.invalid`), { code, syscall: 'getaddrinfo' })
    const explained = await withListenRemedy(Promise.reject(error)).catch(explainStartupError)
    t.match(explained, /host name.*unknown; set HOST/)
    t.notMatch(explainStartupError(error), /HOST/, 'the name of another machine is not taken for that of HOST')
  }
  const start = startProcess(
    {}, { environment: { CLINIGATE_DATA: t.testdir(), HOST: 'nope.invalid', PORT: '0', LOG_LEVEL: 'silent' }, out: () => {} }
  )
  await t.rejects(start, { message: /set HOST/ })
})

// It left an empty file, with which no later start was possible.
t.test('a cursor secret that could not be written to a full disk is created by the next start', async t => {
  const directory = t.testdir()
  const program = `const { ensureCursorSecret } = await import(${JSON.stringify(join(built, 'config', 'secrets.js'))})
    console.log(ensureCursorSecret({ cursor: {}, dataDirectory: ${JSON.stringify(directory)} }).length)`
  const start = async (blocks: number) => await runWithSizeLimit(blocks, ['--input-type=module', '--eval', program])
  t.match(await start(0), 'EFBIG')
  t.strictSame(readdirSync(directory), [])
  t.equal(await start(1_000), '32\n')
  t.strictSame(readdirSync(directory), ['cursor.secret'])
})

// The operator was created first, with a password that was never shown.
t.test(
  'after a first start that fails before it shows the password, the next start creates an operator',
  async t => {
    const file = join(t.testdir(), 'control.db')
    const control = await openControlStore({ file, plans: ['pro'], plansWithoutOverage: [], now: () => new Date() })
    t.teardown(() => control.close())
    const database = new Database(file)
    t.teardown(() => database.close())
    const config = loadConfig({})
    database.exec("CREATE TRIGGER no_room BEFORE INSERT ON keys BEGIN SELECT RAISE(ABORT, 'no room'); END")
    await t.rejects(initializeControlPlane(control, config), { message: 'no room' })
    database.exec('DROP TRIGGER no_room')
    t.match((await initializeControlPlane(control, config)).operator, { email: 'operator@clinigate.local', password: /\S{10}/ })
    t.equal((await initializeControlPlane(control, config)).operator, undefined)
  }
)

const start = (environment: Record<string, string>) =>
  startProcess({}, { environment: { PORT: '0', LOG_LEVEL: 'silent', ...environment }, out: () => {} })

// "file is not a database" could be any of four, of which one may be moved away and another holds all keys and bills.
t.test('a start with a damaged file names it', async t => {
  for (const name of ['control.db', 'idempotency.db', 'sandbox-test.db', 'control.lock']) {
    const CLINIGATE_DATA = t.testdir()
    writeFileSync(join(CLINIGATE_DATA, name), 'this is no database, but a text that is long enough for one'.repeat(100))
    await t.rejects(
      start({ CLINIGATE_DATA }),
      { message: new RegExp(`^${name} in the data directory is damaged or not a database; .*Back up`) },
      name
    )
  }
})

/** Makes a database read-only by its header, which binds root too. */
function makeReadOnly (file: string): void {
  new Database(file).exec('CREATE TABLE x (y)').close()
  const content = readFileSync(file)
  content[18] = 3
  writeFileSync(file, content)
}

// It said "a database in the data directory", or "has schema version 99, expected 2".
t.test('a start with a file that cannot be opened or written, or of a newer version, names it and says what to do', async t => {
  const names = ['control.db', 'keys.db', 'idempotency.db', 'sandbox-test.db']
  const faults: ReadonlyArray<readonly [make: (file: string) => void, names: readonly string[], message: string]> = [
    [makeReadOnly, names, 'cannot be written; check its permissions and those of the directory (CLINIGATE_DATA)'],
    [file => mkdirSync(file), [...names, 'control.lock'], 'cannot be opened; check its permissions and those of the directory (CLINIGATE_DATA)'],
    [
      file => new Database(file).exec('PRAGMA user_version = 99').close(),
      ['idempotency.db', 'sandbox-test.db'],
      'was created or upgraded by a newer version of clinigate; start that version, or see "Back up" in docs/operate.md before you move it away'
    ]
  ]
  for (const [make, files, message] of faults) {
    for (const name of files) {
      const CLINIGATE_DATA = t.testdir()
      make(join(CLINIGATE_DATA, name))
      const reported = await start({ CLINIGATE_DATA }).then(() => 'started', (error: Error) => error.message)
      t.equal(reported, `${name} in the data directory ${message}`)
    }
  }
})

t.test('a start on a control database of a newer version reports it', async t => {
  const CLINIGATE_DATA = t.testdir()
  const file = join(CLINIGATE_DATA, 'control.db')
  await (await openControlStore({ file, plans: ['pro'], plansWithoutOverage: [], now: () => new Date() })).close()
  const database = new Database(file)
  database.exec('INSERT INTO kysely_migration VALUES (\'099-what-comes\', \'2030-01-01T00:00:00.000Z\')')
  database.close()
  await t.rejects(start({ CLINIGATE_DATA }), { message: /^a newer version of clinigate .* restore the backup/ })
})

t.test('a start with a file in place of a directory, or an unknown address, reports what to change', async t => {
  const directory = t.testdir({ file: 'x' })
  await t.rejects(start({ CLINIGATE_DATA: join(directory, 'file') }), {
    message: /file must be a directory, .*CLINIGATE_DATA$/
  })
  await t.rejects(start({ CLINIGATE_DATA: join(directory, 'data'), HOST: '203.0.113.1' }), {
    message: /address.* HOST$/
  })
})

// Both started, and both counted and sent the usage and the events of one directory.
t.test('a data directory that another process uses is rejected, also after a restart and a kill', async t => {
  const CLINIGATE_DATA = t.testdir()
  const datastores = { FHIR_TEST_URL: 'http://127.0.0.1:9/test', FHIR_LIVE_URL: 'http://127.0.0.1:9/live' }
  const startGateway = (processes = '1') => {
    const { PATH = '' } = process.env
    const child = spawn(process.execPath, [join(built, 'main.js')], {
      env: { PATH, CLINIGATE_DATA, ...datastores, CLINIGATE_PROCESSES: processes, PORT: '0', LOG_LEVEL: 'silent' },
      stdio: ['ignore', 'pipe', 'inherit']
    })
    t.teardown(() => child.kill('SIGKILL'))
    return child
  }
  const waitUntilStarted = async (child: ReturnType<typeof startGateway>) => await once(child.stdout!, 'data')
  const refused = { message: /^another process of clinigate uses the data directory; .*CLINIGATE_DATA$/ }
  const first = startGateway()
  await waitUntilStarted(first)
  await t.rejects(start({ CLINIGATE_DATA }), refused)
  await t.rejects(start({ CLINIGATE_DATA, CLINIGATE_ROLE: 'control' }), refused)
  first.kill('SIGKILL')
  await once(first, 'close')
  const second = startGateway('2')
  await waitUntilStarted(second)
  await t.rejects(start({ CLINIGATE_DATA }), refused, 'the first process of several holds it for all')
  second.kill('SIGTERM')
  await once(second, 'close')
  await waitUntilStarted(startGateway())
})

t.test('a control plane and a gateway can share a data directory', async t => {
  const dataDirectory = t.testdir()
  const unlock = lockDirectory({ dataDirectory, role: 'control' })
  t.throws(() => lockDirectory({ dataDirectory, role: 'all' }, { timeoutMs: 0 }), { message: /uses the data directory/ })
  const unlockGateway = lockDirectory({ dataDirectory, role: 'gateway' }, { timeoutMs: 0 })
  for (const release of [unlock, unlockGateway]) release()
  lockDirectory({ dataDirectory, role: 'all' }, { timeoutMs: 0 })()
})

// A client that created a bulk job then got 500.
t.test('writes to a control database on a full disk get 503 with Retry-After, and work again once there is room', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-full-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const { db } = await openSqlite(join(folder, 'control.db'))
  t.teardown(() => db.destroy())
  await sql`CREATE TABLE large (content BLOB)`.execute(db)
  const write = () => db.transaction().execute(trx => sql`INSERT INTO large VALUES (zeroblob(100000))`.execute(trx))
  // SQLite itself raises it to the current size of the file, and fails as on a full disk.
  await sql`PRAGMA max_page_count = 1`.execute(db)
  await t.rejects(write(), {
    name: 'DatabaseUnavailable',
    code: 'BACKEND_UNAVAILABLE',
    status: 503,
    headers: { 'retry-after': '5' },
    remedy: /full.*SQLITE_FULL/
  })
  await sql`PRAGMA max_page_count = 1000000`.execute(db)
  await t.resolves(write())
})

const cli = join(dirname(buildMain()), 'operator', 'cli', 'index.js')

// It ended with the stack of an uncaught error and with the exit code by which an audit reports findings.
t.test("a command that can't write its output reports it, and that its work is done", async t => {
  const full = openSync('/dev/full', 'w')
  t.teardown(() => closeSync(full))
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [cli, 'tokens', 'create', '--role', 'operator', '--name', 'x'], {
    env: { PATH, CLINIGATE_DATA: t.testdir() },
    stdio: ['ignore', full, 'pipe']
  })
  let err = ''
  child.stderr!.on('data', chunk => { err += chunk })
  t.strictSame(await once(child, 'close'), [2, null])
  t.equal(
    err,
    'clinigate: the output cannot be written (ENOSPC). Changes that the command made stay; revoke a key or token whose secret was not written\n'
  )
})
