import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { logDestination } from '../../src/http/log-destination.js'
import { drainRequestBody } from '../../src/http/request-timeout.js'
import { buildMain } from '../harness/built.js'
import { unlimitedPlans } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'

// Nobody read on after an upload was refused in its middle, so nobody saw that its client had left: the connection was
// kept for 72 seconds. A client that sends all before it reads waited as long, and got no answer.

const most = 2 ** 20
const line = '{"lastName":"Byron"}\n'
const plain = Buffer.from(line.repeat(Math.ceil(8 * most / line.length)))
// Of random text, so that it stays long.
const zipped = gzipSync(Array.from({ length: 8 }, () => `${randomBytes(most / 2).toString('hex')}\n`).join(''))

interface Upload { readonly body: Buffer, readonly encoding?: string }

async function place (t: Test) {
  const gateway = await startGateway(t, { plans: unlimitedPlans, config: { bulk: { organizationBytes: most } } })
  const { secret } = await gateway.createKey()
  const { port } = new URL(gateway.url)
  const head = (length: string, encoding = 'identity') =>
    `POST /v1/bulk/import?resourceType=patients HTTP/1.1\r\nhost: x\r\nx-api-key: ${secret}\r\ncontent-type: application/x-ndjson\r\ncontent-encoding: ${encoding}\r\n${length}\r\n\r\n`
  const open = (): Socket => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
    t.after(() => socket.destroy())
    return socket
  }
  const connections = () =>
    new Promise<number>(resolve => gateway.app.server.getConnections((_, count) => resolve(count)))
  return { head, open, connections }
}

/** A body in chunks, so that its length is not known before. */
function * chunksOf ({ body }: Upload): Generator<Buffer> {
  for (let at = 0; at < body.length; at += 65_536) {
    const chunk = body.subarray(at, at + 65_536)
    yield Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')])
  }
}

const chunked = 'transfer-encoding: chunked'

/** Waits for the text that comes until something is in it. */
async function heard (socket: Socket, wanted: RegExp): Promise<string> {
  let text = ''
  socket.on('data', chunk => { text += chunk })
  await until(() => wanted.test(text))
  return text
}

for (const [name, upload] of Object.entries<Upload>({
  plain: { body: plain },
  zipped: { body: zipped, encoding: 'gzip' }
})) {
  t.test(`${name}: the connection of a refused upload ends with its client`, async t => {
    const { head, open, connections } = await place(t)
    const socket = open()
    socket.write(head(chunked, upload.encoding))
    for (const chunk of chunksOf(upload)) socket.write(chunk)
    await heard(socket, /^HTTP\/1\.1 413 /)
    socket.destroy()
    await until(async () => (await connections()) === 0)
  })

  t.test(
    `${name}: a client that sends everything before it reads gets the answer, and its connection serves the next request`,
    async t => {
      const { head, open } = await place(t)
      const socket = open().pause()
      socket.write(head(chunked, upload.encoding))
      for (const chunk of chunksOf(upload)) socket.write(chunk)
      await new Promise<void>(resolve => {
        socket.write('0\r\n\r\n', () => resolve())
      })
      socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
      socket.resume()
      t.match(await heard(socket, /HTTP\/1\.1 200 /), /^HTTP\/1\.1 413 [^]*PAYLOAD_TOO_LARGE/)
    }
  )
}

t.test('a client that has its answer, and then neither sends the rest nor leaves, is cut off', async t => {
  const app = fastify()
  t.after(() => app.close())
  app.addHook('onRequest', async (request, reply) => drainRequestBody(request, reply, 100))
  app.addContentTypeParser('text/long', (_, __, done) => done(null))
  app.post('/', async () => 'enough')
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const socket = connect(Number(port), '127.0.0.1')
  const closed = new Promise<void>(resolve => { socket.once('close', () => resolve()) })
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-type: text/long\r\ncontent-length: 1000000\r\n\r\nsome of it')
  t.match(await heard(socket, /enough/), /^HTTP\/1\.1 200 /)
  await closed
})

const main = buildMain()

/** Runs the built gateway with its log at an open file. */
async function run (t: Test, log: number) {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [main], {
    env: { PATH, CLINIGATE_DATA: t.testdir(), PORT: '0' },
    stdio: ['ignore', 'pipe', log]
  })
  let said = ''
  child.stdout!.on('data', chunk => { said += chunk })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await until(() => said.includes('live key'))
  const [, url] = /listens on (\S+)/.exec(said)!
  const ask = async () =>
    await fetch(`${url}/v1/patients`, { signal: AbortSignal.timeout(60_000) }).then(
      ({ status }) => status,
      () => 0
    )
  return { child, ended, ask }
}

// It tried to write the same line for ever, and answered nothing more.
t.test(
  'a gateway whose log is on a full disk answers as before, and ends when it is asked to',
  { timeout: 600_000 },
  async t => {
    const log = openSync('/dev/full', 'w')
    t.teardown(() => closeSync(log))
    const { child, ended, ask } = await run(t, log)
    for (let i = 0; i < 5; i++) t.equal(await ask(), 401)
    child.kill('SIGTERM')
    t.strictSame(await ended, [0, null])
  }
)

t.test('a log that has room again goes on, each line by itself, and says how many lines are missing', async t => {
  const pipe = join(t.testdir(), 'pipe')
  execFileSync('mkfifo', [pipe])
  const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  t.teardown(() => closeSync(fd))
  const read = (): string => {
    const place = Buffer.alloc(1_000_000)
    return place.toString('utf8', 0, readSync(fd, place))
  }
  const { write } = logDestination(fd, () => new Date(0))
  for (let n = 1; n <= 10; n++) write(`${JSON.stringify({ n, text: 'x'.repeat(9_000) })}\n`)
  const [cut, ...whole] = read().split('\n').toReversed()
  const written = whole.length
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

t.test('a log that nobody reads any more is passed over', async t => {
  const fd = openSync('/dev/null', 'r')
  t.teardown(() => closeSync(fd))
  const { write } = logDestination(fd, () => new Date(0))
  for (let i = 0; i < 3; i++) t.doesNotThrow(() => write('{"n":1}\n'))
})

const [debug, info] = [20, 30]

// A load balancer asks every second: nothing else could be found between its lines.
t.test('a probe that succeeds is logged for those who debug, and all else for everybody', async t => {
  const { inject, logged } = await startGateway(t)
  const levelOf = async (method: 'GET' | 'HEAD' | 'POST', url: string) => {
    const before = logged().length
    const { statusCode } = await inject({ method, url })
    const [line] = logged().slice(before).filter(({ msg }) => msg === 'answered')
    return { statusCode, level: line?.level }
  }
  for (const url of ['/health', '/health/ready', '/health?full=1']) {
    t.strictSame(await levelOf('GET', url), { statusCode: 200, level: debug }, url)
    t.strictSame(await levelOf('HEAD', url), { statusCode: 200, level: debug }, `HEAD ${url}`)
  }
  t.strictSame(await levelOf('POST', '/health'), { statusCode: 405, level: info })
  t.strictSame(await levelOf('GET', '/health/nothing'), { statusCode: 404, level: info })
  t.strictSame(await levelOf('GET', '/v1/metadata'), { statusCode: 200, level: info })
})
