import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLogDestination } from '../../src/http/log.js'
import { buildMain } from '../harness/built.js'
import { startGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'

const main = buildMain()

/** Runs the built gateway with its log at an open file. */
async function run (t: Test, log: number) {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [main], {
    env: { PATH, CLINIGATE_DATA: t.testdir(), PORT: '0' },
    stdio: ['ignore', 'pipe', log]
  })
  let output = ''
  child.stdout!.on('data', chunk => { output += chunk })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await waitUntil(() => output.includes('live key'))
  const [, url] = /listens on (\S+)/.exec(output)!
  const getStatus = async () =>
    await fetch(`${url}/v1/patients`, { signal: AbortSignal.timeout(60_000) }).then(
      ({ status }) => status,
      () => 0
    )
  return { child, ended, getStatus }
}

// It tried to write the same line for ever, and no longer responded.
t.test(
  'a gateway whose log is on a full disk responds as before, and ends on SIGTERM',
  { timeout: 600_000 },
  async t => {
    const log = openSync('/dev/full', 'w')
    t.teardown(() => closeSync(log))
    const { child, ended, getStatus } = await run(t, log)
    for (let i = 0; i < 5; i++) t.equal(await getStatus(), 401)
    child.kill('SIGTERM')
    t.strictSame(await ended, [0, null])
  }
)

t.test('a log that has room again goes on, each line by itself, and reports how many lines are missing', async t => {
  const pipe = join(t.testdir(), 'pipe')
  execFileSync('mkfifo', [pipe])
  const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  t.teardown(() => closeSync(fd))
  const read = (): string => {
    const buffer = Buffer.alloc(1_000_000)
    return buffer.toString('utf8', 0, readSync(fd, buffer))
  }
  const { write } = createLogDestination(fd, () => new Date(0))
  for (let n = 1; n <= 10; n++) write(`${JSON.stringify({ n, text: 'x'.repeat(9_000) })}\n`)
  const [cut, ...completeLines] = read().split('\n').toReversed()
  const written = completeLines.length
  t.match(cut, `{"n":${written + 1},"text":"xxx`)
  for (const n of [11, 12]) write(`{"n":${n}}\n`)
  const [rest, ...lines] = read().trimEnd().split('\n')
  t.equal(rest, '', 'the line that was cut ends here')
  t.strictSame(
    lines.map(line => JSON.parse(line)),
    [
      { level: 40, time: 0, lines: 10 - written, msg: 'log lines before this one could not be written' },
      { n: 11 },
      { n: 12 }
    ]
  )
})

t.test('a log whose reader is gone is ignored', async t => {
  const fd = openSync('/dev/null', 'r')
  t.teardown(() => closeSync(fd))
  const { write } = createLogDestination(fd, () => new Date(0))
  for (let i = 0; i < 3; i++) t.doesNotThrow(() => write('{"n":1}\n'))
})

const [debug, info] = [20, 30]

// A load balancer probes every second: no other line could be found between its lines.
t.test('a successful probe is logged at debug level, and everything else at info', async t => {
  const { inject, logged } = await startGateway(t)
  const getLogLevel = async (method: 'GET' | 'HEAD' | 'POST', url: string) => {
    const before = logged().length
    const { statusCode } = await inject({ method, url })
    const [line] = logged().slice(before).filter(({ msg }) => msg === 'responded')
    return { statusCode, level: line?.level }
  }
  for (const url of ['/health', '/health/ready', '/health?full=1']) {
    t.strictSame(await getLogLevel('GET', url), { statusCode: 200, level: debug }, url)
    t.strictSame(await getLogLevel('HEAD', url), { statusCode: 200, level: debug }, `HEAD ${url}`)
  }
  t.strictSame(await getLogLevel('POST', '/health'), { statusCode: 405, level: info })
  t.strictSame(await getLogLevel('GET', '/health/nothing'), { statusCode: 404, level: info })
  t.strictSame(await getLogLevel('GET', '/v1/metadata'), { statusCode: 200, level: info })
})
