import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, openSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** Where the engine that this starts stores its images, and Compose when it was built here. */
const cache = join(homedir(), '.cache', 'clinigate')
const composeModule = 'github.com/docker/compose/v2@v2.32.4'
/** The first Compose that supports `include`, secrets of a build from variables, and `extends` together with them. */
const oldestCompose = [2, 24] as const
const engineStartLimitMs = 60_000

interface RunOptions {
  readonly input?: string | Buffer
  readonly environment?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/**
 * Runs a program.
 * @returns its standard output
 * @throws {Error} with the end of its standard error when it fails
 */
export async function run (
  [program, ...args]: readonly string[],
  { input, environment, cwd }: RunOptions = {}
): Promise<string> {
  return await new Promise((resolve, reject) => {
    const options = { maxBuffer: 2 ** 28, cwd, env: { ...process.env, ...environment } }
    const child = execFile(program!, args, options, (error, stdout, stderr) => {
      if (!error) resolve(stdout)
      else reject(new Error(`${program} ${args.join(' ').slice(0, 200)}: ${stderr.trim().slice(-2_000) || error.message}`))
    })
    // A program that ends early reports the reason by its code.
    child.stdin!.on('error', () => {})
    child.stdin!.end(input)
  })
}

/** Runs the engine's command. */
export const runDocker = async (...args: readonly string[]): Promise<string> => await run(['docker', ...args])

/** Runs Compose: the engine's own, or what `findCompose` built. */
export async function runCompose (args: readonly string[], options?: RunOptions): Promise<string> {
  return await run([...(process.env.TEST_COMPOSE ?? 'docker compose').split(' '), ...args], options)
}

interface Engine {
  /** What it is, in a line. */
  readonly name: string
  readonly stop: () => Promise<void>
}

/**
 * The engine that responds, or one that this process starts for itself and its children.
 * @throws {Error} that names the missing program
 */
export async function findEngine (): Promise<Engine> {
  const missing = 'install a container engine (Debian: apt-get install docker.io)'
  if (!await isThere('docker')) throw new Error(`there is no command docker: ${missing}`)
  const runningVersion = await findVersion()
  if (runningVersion !== undefined) return { name: `engine ${runningVersion}, which was running`, stop: async () => {} }
  if (!await isThere('dockerd')) throw new Error(`no engine answers, and there is no dockerd to start: ${missing}`)
  if (process.getuid?.() !== 0) throw new Error('no engine answers; start it, or run this as root so that it starts one')
  return await startEngine()
}

async function startEngine (): Promise<Engine> {
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-engine-'))
  const socket = `unix://${join(folder, 'socket')}`
  const data = join(cache, 'engine')
  const log = join(folder, 'log')
  const flags = { 'data-root': data, 'exec-root': join(folder, 'exec'), pidfile: join(folder, 'pid'), host: socket }
  const child = spawn('dockerd', Object.entries(flags).map(([name, value]) => `--${name}=${value}`), {
    stdio: ['ignore', 'ignore', openSync(log, 'w')]
  })
  process.env.DOCKER_HOST = socket
  for (const deadline = Date.now() + engineStartLimitMs; ; await pause(200)) {
    const started = await findVersion()
    if (started !== undefined) {
      return { name: `engine ${started}, started for this run`, stop: async () => await stopEngine(child, folder) }
    }
    if (child.exitCode === null && Date.now() < deadline) continue
    const reason = readFileSync(log, 'utf8').trim().split('\n').at(-1) ?? ''
    await stopEngine(child, folder)
    throw new Error(`dockerd did not start: ${reason}`)
  }
}

async function stopEngine (child: ChildProcess, folder: string): Promise<void> {
  const ended = child.exitCode === null ? once(child, 'exit') : undefined
  child.kill('SIGTERM')
  await ended
  rmSync(folder, { recursive: true, force: true })
}

const findVersion = async (): Promise<string | undefined> =>
  await runDocker('version', '--format', '{{.Server.Version}}').then(text => text.trim(), () => undefined)

const isThere = async (program: string): Promise<boolean> =>
  await run([program, '--version']).then(() => true, () => false)

/**
 * The command of Compose: the engine's own where it is new enough, else one that Go builds, once for this machine.
 * @throws {Error} that names the missing program
 */
export async function findCompose (log: (line: string) => void): Promise<string> {
  for (const command of ['docker compose', 'docker-compose', join(cache, 'docker-compose')]) {
    const found = await run([...command.split(' '), 'version', '--short']).catch(() => '')
    const [major = 0, minor = 0] = found.trim().replace(/^v/, '').split('.').map(Number)
    if (major > oldestCompose[0] || (major === oldestCompose[0] && minor >= oldestCompose[1])) return command
  }
  if (!await run(['go', 'version']).then(() => true, () => false)) {
    throw new Error(`there is no Compose ${oldestCompose.join('.')} or later, nor Go to build it: install docker-compose-v2`)
  }
  log('Building Compose with Go, once; this takes some ten minutes')
  mkdirSync(cache, { recursive: true })
  const { Dir } = JSON.parse(await run(['go', 'mod', 'download', '-json', composeModule])) as { Dir: string }
  const built = join(cache, 'docker-compose')
  const versionFlag = `-X github.com/docker/compose/v2/internal.Version=${composeModule.split('@')[1]}`
  await run(['go', 'build', '-C', Dir, '-trimpath', '-ldflags', `-s -w ${versionFlag}`, '-o', built, './cmd'])
  if (!existsSync(built)) throw new Error('Go built no Compose')
  return built
}
