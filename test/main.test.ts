import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { buildMain, getProcessEnvironment } from './harness/built.js'
import { listDataFiles } from './harness/data-files.js'

// Like `npm start`, since compiling in the process would take longer than all the rest.
const built = dirname(buildMain())

function createDataDirectory (t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'clinigate-main-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** The process as a user starts it; it is ended with the test. */
function start (t: Test, environment: Record<string, string>, ...args: string[]) {
  return startFile(t, 'main.js', environment, args)
}

function startFile (t: Test, file: string, environment: Record<string, string>, args: readonly string[]) {
  const child = spawn(process.execPath, [join(built, file), ...args], {
    env: { ...getProcessEnvironment(), HOST: '127.0.0.1', PORT: '0', ...environment }
  })
  const output = { out: '', err: '' }
  child.stdout.on('data', chunk => { output.out += chunk })
  child.stderr.on('data', chunk => { output.err += chunk })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  t.after(() => { child.kill('SIGKILL') })
  const address = async () => {
    while (!/listens on (\S+)\n/.test(output.out)) {
      const over = await Promise.race([
        ended.then(() => true),
        new Promise<false>(resolve => setTimeout(resolve, 50, false))
      ])
      if (over) throw new Error(`it ended: ${output.err}`)
    }
    return /listens on (\S+)\n/.exec(output.out)![1]!
  }
  return { output, ended, address, stop: (signal: NodeJS.Signals = 'SIGTERM') => { child.kill(signal); return ended } }
}

const findKeys = (text: string) => text.match(/svc_(?:test|live)_\w+/g) ?? []

t.test('the first start prints a test key and a live key that work at once, and no later one does', async t => {
  const data = createDataDirectory(t)
  const first = start(t, { CLINIGATE_DATA: data })
  const address = await first.address()
  const keys = findKeys(first.output.out)
  t.match(keys, [/^svc_test_/, /^svc_live_/])
  t.equal(keys.length, 2)
  t.match(first.output.out, /sandbox.*for evaluation only/)
  const [, password = ''] = /operator@\S+\n +password +(\S+)\n/.exec(first.output.out) ?? []
  t.ok(password.length > 10, 'and the password of an operator')
  t.match((await fetch(`${address}/dashboard`)).url, `${address}/dashboard/sign-in`)
  for (const key of keys) {
    const made = await fetch(`${address}/v1/patients`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: '{ "firstName": "Ada", "lastName": "Byron" }'
    })
    t.equal(made.status, 201)
    const found = await fetch(`${address}/v1/patients`, { headers: { 'x-api-key': key } })
    t.match(await found.json(), { data: { total: 1 } }, 'test and live have a store of their own')
  }
  t.equal(await first.stop(), 0)
  for (const line of first.output.err.trim().split('\n')) {
    t.match(JSON.parse(line), { level: Number, msg: String }, 'the log is JSON lines')
  }
  for (const key of [...keys, password]) {
    t.notMatch(first.output.err, key, 'no key in the log')
    for (const { name, bytes } of listDataFiles(data)) t.notOk(bytes.includes(key), `no key in ${name}`)
  }

  const second = start(t, { CLINIGATE_DATA: data })
  const again = await second.address()
  t.strictSame(findKeys(second.output.out), [])
  t.notMatch(second.output.out, 'password')
  t.equal(
    (await fetch(`${again}/v1/patients`, { headers: { 'x-api-key': keys[0]! } })).status,
    200,
    'the keys and records outlast the process'
  )
  t.equal(await second.stop('SIGINT'), 0)
})

t.test('a process that is to end reports it to load balancers first, and serves all requests that arrive meanwhile', async t => {
  const process = start(t, { CLINIGATE_DATA: createDataDirectory(t), DRAIN_SECONDS: '600' })
  const address = await process.address()
  const fetchReady = () => fetch(`${address}/health/ready`)
  t.match(await (await fetchReady()).json(), { data: { status: 'ready' }, meta: { status: 200 } })
  process.stop()
  while ((await fetchReady()).status === 200) await new Promise(resolve => setTimeout(resolve, 50))
  const refused = await fetchReady()
  t.match(await refused.json(), { data: null, code: 'BACKEND_UNAVAILABLE', meta: { status: 503 } })
  t.match(refused.headers.get('retry-after'), /^\d+$/)
  const served = await fetch(`${address}/v1/patients`, { headers: { 'x-api-key': findKeys(process.output.out)[0]! } })
  t.equal(served.status, 200)
  t.equal(served.headers.get('connection'), 'close', 'and nobody keeps a connection that will break')
  t.equal((await fetch(`${address}/health`)).status, 200, 'it is alive')
  t.equal(await process.stop(), 1, 'whoever asks twice does not wait')

  const soon = start(t, { CLINIGATE_DATA: createDataDirectory(t), DRAIN_SECONDS: '1' })
  await soon.address()
  t.equal(await soon.stop(), 0, 'it ends by itself')
})

t.test('a bad configuration stops the start with every mistake, and ends with 1', async t => {
  const { output, ended } = start(t, {
    CLINIGATE_DATA: createDataDirectory(t),
    PORT: 'x',
    FHIR_TEST_URL: 'nonsense',
    LOG_LEVEL: 'loud'
  })
  t.equal(await ended, 1)
  for (const variable of ['PORT', 'FHIR_TEST_URL', 'LOG_LEVEL']) t.match(output.err, `- ${variable}: `)
  t.notMatch(output.err, / at .*:\d+/, 'no stack')
  t.equal(output.out, '')
})

t.test('a port that is in use stops the start with what to do, and ends with 1', async t => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const { output, ended } = start(t, {
    CLINIGATE_DATA: createDataDirectory(t),
    PORT: String((taken.address() as AddressInfo).port)
  })
  t.equal(await ended, 1)
  t.match(output.err, 'choose another port with PORT')
  t.strictSame(findKeys(output.out), [], 'no key is lost on a start that failed')
})

t.test('a gateway without a control plane, or with a database of its own, does not start', async t => {
  const wrong = [
    [
      {},
      [/CONTROL_URL.*is required for the role gateway/, /CLINIGATE_GATEWAY_TOKEN.*is required for the role gateway/]
    ],
    [
      {
        CONTROL_URL: 'http://127.0.0.1:1',
        CLINIGATE_GATEWAY_TOKEN: 'x',
        CONTROL_DATABASE_URL: 'postgres://x@127.0.0.1/x'
      },
      [/has no control plane database/]
    ]
  ] as const
  for (const [variables, messages] of wrong) {
    const refused = start(t, { CLINIGATE_DATA: createDataDirectory(t), ...variables }, '--role', 'gateway')
    t.equal(await refused.ended, 1)
    for (const sentence of messages) t.match(refused.output.err, sentence)
  }
})

t.test('clinigate start is the same start, in every role', async t => {
  const data = createDataDirectory(t)
  const control = startFile(t, 'operator/cli/index.js', { CLINIGATE_DATA: data }, ['start', '--role', 'control'])
  const address = await control.address()
  t.equal(findKeys(control.output.out).length, 2)
  t.match(control.output.out, `The dashboard is at ${address}/dashboard`)
  const gateway = startFile(
    t,
    'operator/cli/index.js',
    { CLINIGATE_DATA: createDataDirectory(t), CONTROL_URL: address, CLINIGATE_GATEWAY_TOKEN: 'not a token' },
    ['start', '--role', 'gateway']
  )
  const gatewayAddress = await gateway.address()
  t.equal(
    (await fetch(`${gatewayAddress}/v1/patients`, { headers: { 'x-api-key': findKeys(control.output.out)[0]! } })).status,
    503,
    'no key is taken while none is known'
  )
  t.strictSame(
    [(await fetch(`${gatewayAddress}/health/ready`)).status, (await fetch(`${gatewayAddress}/health`)).status],
    [503, 200],
    'so no requests are to be sent there'
  )
  t.equal((await fetch(`${address}/health/ready`)).status, 200)
  while (!gateway.output.err.includes('rejected this gateway')) await new Promise(resolve => setTimeout(resolve, 50))
  t.notMatch(gateway.output.err, 'not a token')
  t.strictSame([await gateway.stop(), await control.stop()], [0, 0])
  const wrong = startFile(t, 'operator/cli/index.js', {}, ['start', '--role', 'both'])
  t.equal(await wrong.ended, 2)
  t.match(wrong.output.err, /all, gateway, control/)
})

t.test('--help and --version print the usage and version, and unknown options are rejected', async t => {
  const run = async (...args: string[]) => {
    const { output, ended } = start(t, {}, ...args)
    return { code: await ended, ...output }
  }
  const [help, version, unknown] = await Promise.all([run('--help'), run('--version'), run('--prot')])
  t.match(help, { code: 0, out: /--role <role>[^]*--config/ })
  t.match(version, { code: 0, out: /^\d+\.\d+\.\d+\n$/ })
  t.match(unknown, { code: 1, out: '', err: /--prot/ })
})
