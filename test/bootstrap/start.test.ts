import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { requireOpenFiles } from '../../src/bootstrap/requirements.js'
import { openService } from '../../src/bootstrap/service.js'
import { loadConfig } from '../../src/config/load.js'
import { ensureDirectory } from '../../src/files/ensure.js'
import { buildMain } from '../harness/built.js'
import { waitUntil } from '../harness/until.js'

const main = buildMain()

// In a process of its own, since Node's way of creating directories blocked it for ever.
function start (CLINIGATE_DATA: string, file = main, ...args: string[]) {
  const { PATH = '' } = process.env
  const { status, signal, stderr } = spawnSync(process.execPath, [file, ...args], {
    env: { PATH, CLINIGATE_DATA, PORT: '0', LOG_LEVEL: 'silent' },
    timeout: 60_000,
    killSignal: 'SIGKILL',
    encoding: 'utf8'
  })
  return { status, signal, stderr }
}

t.test('a data directory that cannot be created ends the start at once, with what to do', async t => {
  const directory = t.testdir()
  symlinkSync(join(directory, 'nowhere', 'else'), join(directory, 'link'))
  symlinkSync(join(directory, 'loop'), join(directory, 'loop'))
  const paths = [
    join(directory, 'link'),
    join(directory, 'loop', 'x'),
    join(directory, 'a'.repeat(300)),
    ...(existsSync('/proc/self') ? ['/proc/x', '/proc/x/y'] : [])
  ]
  for (const path of paths) {
    t.match(
      start(path),
      {
        status: 1,
        signal: null,
        stderr: /^clinigate: \/.* (?:must be|cannot be made) a directory.* CLINIGATE_DATA\n$/
      },
      path.slice(0, 100)
    )
  }
  if (existsSync('/proc/self')) {
    t.match(start('/proc/x', join(dirname(main), 'operator', 'cli', 'index.js'), 'orgs', 'list'), {
      status: 1,
      signal: null,
      stderr: /^clinigate: \/proc\/x cannot be made/
    })
  }
})

t.test('a directory is created with its parents, once, and for this user alone', async t => {
  const path = join(t.testdir(), 'a', 'b', 'c')
  ensureDirectory(path)
  ensureDirectory(path)
  for (const made of [path, dirname(path), dirname(dirname(path))]) t.equal(statSync(made).mode & 0o777, 0o700)
  mkdirSync(join(path, 'open'), { mode: 0o755 })
  ensureDirectory(join(path, 'open'))
  t.equal(statSync(join(path, 'open')).mode & 0o077, 0o055, 'and what is there already stays as it is')
})

const readModes = (directory: string) =>
  Object.fromEntries(
    readdirSync(directory)
      .filter(name => /\.db(?:-|$)/.test(name))
      .map(name => [name, (statSync(join(directory, name)).mode & 0o777).toString(8)])
  )

// A directory that the operator or a service manager had created is often open to all, and control.db holds the key of
// bulk files and password hashes.
t.test('databases are readable by their user alone in a data directory that all may enter, also those created before', async t => {
  const CLINIGATE_DATA = t.testdir()
  chmodSync(CLINIGATE_DATA, 0o755)
  const previous = process.umask(0o022)
  t.teardown(() => process.umask(previous))
  const { pino } = await import('pino')
  const open = () =>
    openService(loadConfig({ CLINIGATE_DATA, PORT: '0' }), {
      environment: {},
      version: '0',
      logsCapabilities: false,
      now: () => new Date(),
      log: pino({ level: 'silent' })
    })
  for (const round of ['new', 'made before']) {
    const service = await open()
    const modes = readModes(CLINIGATE_DATA)
    for (const name of ['control', 'keys', 'usage', 'idempotency', 'sandbox-test']) {
      t.equal(modes[`${name}.db`], '600', `${round}: ${name}`)
    }
    t.strictSame([...new Set(Object.values(modes))], ['600'], `${round}, with their logs`)
    await service.close()
    for (const name of Object.keys(readModes(CLINIGATE_DATA))) chmodSync(join(CLINIGATE_DATA, name), 0o644)
  }
})

const built = dirname(buildMain())

/** Standard error of a program of Node with a limit of open files. */
async function runWithFileLimit (files: number, args: readonly string[], env: Record<string, string>): Promise<string> {
  const { PATH = '' } = process.env
  return await promisify(execFile)('sh', ['-c', `ulimit -n ${files}; exec "$0" "$@"`, process.execPath, ...args], {
    env: { PATH, ...env },
    timeout: 60_000
  }).then(
    ({ stderr }) => stderr,
    ({ stderr }: { stderr: string }) => stderr
  )
}

// Node said with its stack that a package or a file cannot be found, or that too many files are open.
t.test('a start or a command with too few file descriptors reports it', async t => {
  const env = { CLINIGATE_DATA: t.testdir(), PORT: '1' }
  for (const files of [100, 200, 300]) {
    for (const args of [['main.js'], ['operator/cli/index.js', 'orgs', 'list']]) {
      t.equal(
        await runWithFileLimit(files, [join(built, args[0]!), ...args.slice(1)], env),
        `clinigate: this process may have only ${files} files open, and needs at least 512; raise its limit (ulimit -n, LimitNOFILE)\n`,
        `${args[0]} with ${files}`
      )
    }
  }
})

t.test('a process with enough file descriptors, or without a limit, goes on', async t => {
  for (const files of [512, Infinity]) t.doesNotThrow(() => requireOpenFiles(files))
  t.throws(() => requireOpenFiles(511), { message: /only 511 files/ })
})

// Its secrets were lost and its databases stayed open: the process took the signal's default.
t.test(
  'a process that is signalled to end during its first start finishes it, shows its secrets and closes',
  async t => {
    const { PATH = '' } = process.env
    const child = spawn(process.execPath, [main], {
      env: { PATH, CLINIGATE_DATA: t.testdir(), HOST: '127.0.0.1', PORT: '0' }
    })
    const output = { out: '', err: '' }
    child.stdout.on('data', chunk => {
      output.out += chunk
    })
    child.stderr.on('data', chunk => {
      output.err += chunk
    })
    const ended = once(child, 'close')
    t.teardown(async () => {
      child.kill('SIGKILL')
      await ended
    })
    // It listens before it creates an operator and an organization.
    await waitUntil(() => output.err.includes('Server listening'))
    child.kill('SIGTERM')
    t.strictSame(await ended, [0, null])
    t.match(output.out, /svc_live_\w+/)
    t.match(output.err, '"msg":"closing"')
  }
)
