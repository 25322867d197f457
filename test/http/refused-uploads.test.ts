import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { randomBytes } from 'node:crypto'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { drainRequestBody } from '../../src/http/request-timeout.js'
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
