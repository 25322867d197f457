// Starts and ends the processes of a benchmark.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { sum } from './figures.js'

const root = join(import.meta.dirname, '..')
const children = []

/** The memory flags of Node.js and glibc in the image, with which a gateway is measured as well. */
const image = readFileSync(join(root, 'docker/Dockerfile'), 'utf8')
const imageFlags = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(image)[1]).filter(word => word.startsWith('--'))
const imageMemory = Object.fromEntries(
  [...image.matchAll(/^ENV (MALLOC_\w+)=(\d+)$/gm)].map(([, name, value]) => [name, value])
)

/** Starts a script and returns the first line that it prints. */
export function start (script, args = [], env = {}, flags = []) {
  const ours = [...script === 'dist/main.js' ? imageFlags : [], ...flags, join(root, script), ...args]
  const child = run(process.execPath, ours, { ...imageMemory, ...env })
  return new Promise((resolve, reject) => {
    child.once('exit', code => reject(new Error(`${script} ended with ${code}`)))
    child.stdout.once('data', text => resolve({ line: String(text).split('\n')[0], pid: child.pid }))
  })
}

/** Starts a program that ends with this one. */
export function run (command, args, env = {}) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] })
  if (children.length === 0) endWithThis()
  children.push(child)
  return child
}

function endWithThis () {
  process.once('exit', stopAll)
  for (const [signal, code] of [['SIGINT', 130], ['SIGTERM', 143]]) process.once(signal, () => process.exit(code))
}

/** A gateway in front of the upstream, with an organization and a key without limits. Node.js gets `flags`. */
export async function startGateway (startUpstream, { args = [], flags = [] } = {}) {
  const { env, create } = await createEnvironment()
  const { tenantId, secret } = createKey({ create })
  const upstream = await startUpstream(tenantId)
  const started = await startOn({ env: { ...env, ...toFhirServerSettings(upstream) } }, 'dist/main.js', args, flags)
  return { ...started, secret, upstream }
}

/** The environment of a gateway; its plan `bench` has no limit unless another is given. */
export async function createEnvironment (
  upstream,
  plan = { requestsPerMinute: null, requestsPerMonth: null, overage: false }
) {
  const data = mkdtempSync(join(tmpdir(), 'clinigate-bench-'))
  process.once('exit', () => rmSync(data, { recursive: true, force: true }))
  const plans = join(data, 'plans.json')
  writeFileSync(plans, JSON.stringify({ bench: plan }))
  const env = {
    CLINIGATE_DATA: data,
    CLINIGATE_PLANS: plans,
    PORT: String(await findFreePort()),
    HOST: '127.0.0.1',
    LOG_LEVEL: 'error',
    ...(upstream === undefined ? {} : toFhirServerSettings(upstream))
  }
  return {
    env,
    create: (...args) =>
      JSON.parse(
        execFileSync(process.execPath, [join(root, 'dist/operator/cli/index.js'), ...args], {
          env: { ...process.env, ...env }
        })
      )
  }
}

/** A new organization's key. */
export function createKey ({ create }) {
  const { tenantId } = create('orgs', 'create', '--name', 'bench', '--plan', 'bench')
  return { tenantId, ...create('keys', 'create', '--tenant', tenantId, '--mode', 'test') }
}

/** Starts a gateway and waits until it responds. Node.js gets `flags`, such as those of a profile. */
export async function startOn ({ env }, script, args = [], flags = []) {
  const { pid } = await start(script, args, env, flags)
  const url = `http://127.0.0.1:${env.PORT}`
  await waitUntilUp(`${url}/health`)
  return { url, pid, env }
}

/**
 * Starts a control plane, and a gateway with it as a separate process, as where there are several.
 * @returns the gateway, with the process id of the control plane as `control`
 */
export async function startSeparately ({ env, create }, flags = []) {
  const { pid: control } = await startOn({ env }, 'dist/main.js', ['--role', 'control'])
  const { secret } = create('tokens', 'create', '--role', 'gateway', '--name', 'bench')
  const own = {
    PORT: String(await findFreePort()),
    CLINIGATE_DATA: join(env.CLINIGATE_DATA, 'gateway'),
    CONTROL_URL: `http://127.0.0.1:${env.PORT}`,
    CLINIGATE_GATEWAY_TOKEN: secret
  }
  const gateway = await startOn({ env: { ...env, ...own } }, 'dist/main.js', ['--role', 'gateway'], flags)
  return { ...gateway, control }
}

/** Starts a gateway that runs no bulk jobs, and a worker that does. @returns the gateway */
export async function startWithWorker ({ env, create }) {
  const directory = join(env.CLINIGATE_DATA, 'bulk')
  const writeConfig = (name, bulk) => {
    const file = join(env.CLINIGATE_DATA, name)
    writeFileSync(file, JSON.stringify({ bulk: { directory, ...bulk } }))
    return file
  }
  const gateway = await startOn(
    { env: { ...env, CLINIGATE_CONFIG: writeConfig('gateway.json', { maxConcurrentJobs: 0 }) } }, 'dist/main.js'
  )
  const { secret } = create('tokens', 'create', '--role', 'gateway', '--name', 'bench')
  const own = {
    PORT: String(await findFreePort()),
    CLINIGATE_CONFIG: writeConfig('worker.json', {}),
    CLINIGATE_DATA: join(env.CLINIGATE_DATA, 'worker'),
    CONTROL_URL: gateway.url,
    CLINIGATE_GATEWAY_TOKEN: secret
  }
  await startOn({ env: { ...env, ...own } }, 'dist/main.js', ['--role', 'worker'])
  return gateway
}

/** The settings that name a FHIR server. */
export const toFhirServerSettings = url => ({ FHIR_TEST_URL: url, FHIR_LIVE_URL: url })

/** Resident memory of a process in MiB. */
export function readResidentMemory (pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024
}

/**
 * Processor time that a process has used so far, of all its threads and of the processes that it has started, in
 * milliseconds: the first number of each thread's `schedstat`, which is exact, where utime and stime are in hundredths
 * of a second.
 */
export function readProcessorTime (pid) {
  const threads = readdirSync(`/proc/${pid}/task`).map(thread => readThread(pid, `${thread}/schedstat`))
  const started = readThread(pid, `${pid}/children`).split(' ').filter(Boolean)
  return sum(threads.map(text => Number(text.split(' ')[0]) / 1_000_000)) + sum(started.map(readProcessorTime))
}

/** Empty for a thread that has ended meanwhile. */
function readThread (pid, name) {
  try {
    return readFileSync(`/proc/${pid}/task/${name}`, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return ''
    throw error
  }
}

/**
 * Moves this process to one half of the machine's processors; processes that it starts from then on stay there as well.
 * By taskset(1), on Linux.
 * @param half 0 or 1
 */
export function moveTo (half) {
  const middle = Math.ceil(cpus().length / 2)
  const own = [...cpus().keys()].filter(number => (number < middle) === (half === 0))
  if (own.length === 0) throw new Error('this takes two processors')
  execFileSync('taskset', ['-acp', own.join(','), String(process.pid)])
}

export function stopAll () {
  for (const child of children) child.kill('SIGTERM')
}

/** @throws {Error} when the address does not respond successfully for half a minute */
export async function waitUntilUp (url) {
  for (let i = 0; i < 300; i++) {
    if (await fetch(url).then(response => response.ok, () => false)) return
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error(`${url} does not answer`)
}

/** A free port on loopback. */
export function findFreePort () {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
