import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { randomBytes } from 'node:crypto'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { drainRequestBody } from '../../src/http/request-timeout.js'
import { unlimitedPlans } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'

// After an upload was rejected in its middle the rest was not read, so that a client that left was not noticed: the
// connection stayed open for 72 seconds. A client that sends all before it reads waited as long, and got no response.

const maxBytes = 2 ** 20
const line = '{"lastName":"Byron"}\n'
const plain = Buffer.from(line.repeat(Math.ceil(8 * maxBytes / line.length)))
// Of random text, so that it stays long when compressed.
const zipped = gzipSync(Array.from({ length: 8 }, () => `${randomBytes(maxBytes / 2).toString('hex')}\n`).join(''))

interface Upload { readonly body: Buffer, readonly encoding?: string }

async function startUploads (t: Test) {
  const gateway = await startGateway(t, { plans: unlimitedPlans, config: { bulk: { organizationBytes: maxBytes } } })
  const { secret } = await gateway.createKey()
  const { port } = new URL(gateway.url)
  const buildHead = (length: string, encoding = 'identity') =>
    `POST /v1/bulk/import?resourceType=patients HTTP/1.1\r\nhost: x\r\nx-api-key: ${secret}\r\ncontent-type: application/x-ndjson\r\ncontent-encoding: ${encoding}\r\n${length}\r\n\r\n`
  const open = (): Socket => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
    t.after(() => socket.destroy())
    return socket
  }
  const countConnections = () =>
    new Promise<number>(resolve => gateway.app.server.getConnections((_, count) => resolve(count)))
  return { buildHead, open, countConnections }
}

/** A body in chunks, so that its length is not known before. */
function * splitChunks ({ body }: Upload): Generator<Buffer> {
  for (let at = 0; at < body.length; at += 65_536) {
    const chunk = body.subarray(at, at + 65_536)
    yield Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')])
  }
}

const chunked = 'transfer-encoding: chunked'

/** Collects the text that arrives until it contains a pattern. */
async function waitForText (socket: Socket, wanted: RegExp): Promise<string> {
  let text = ''
  socket.on('data', chunk => { text += chunk })
  await waitUntil(() => wanted.test(text))
  return text
}

for (const [name, upload] of Object.entries<Upload>({
  plain: { body: plain },
  zipped: { body: zipped, encoding: 'gzip' }
})) {
  t.test(`${name}: the connection of a rejected upload closes with its client`, async t => {
    const { buildHead, open, countConnections } = await startUploads(t)
    const socket = open()
    socket.write(buildHead(chunked, upload.encoding))
    for (const chunk of splitChunks(upload)) socket.write(chunk)
    await waitForText(socket, /^HTTP\/1\.1 413 /)
    socket.destroy()
    await waitUntil(async () => (await countConnections()) === 0)
  })

  t.test(
    `${name}: a client that sends everything before it reads gets the response, and its connection serves the next request`,
    async t => {
      const { buildHead, open } = await startUploads(t)
      const socket = open().pause()
      socket.write(buildHead(chunked, upload.encoding))
      for (const chunk of splitChunks(upload)) socket.write(chunk)
      await new Promise<void>(resolve => {
        socket.write('0\r\n\r\n', () => resolve())
      })
      socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
      socket.resume()
      t.match(await waitForText(socket, /HTTP\/1\.1 200 /), /^HTTP\/1\.1 413 [^]*PAYLOAD_TOO_LARGE/)
    }
  )
}

t.test('a client that has its response, and then neither sends the rest nor closes, is cut off', async t => {
  const app = fastify()
  t.after(() => app.close())
  app.addHook('onRequest', async (request, reply) => drainRequestBody(request, reply, 100))
  app.addContentTypeParser('text/long', (_, __, done) => done(null))
  app.post('/', async () => 'enough')
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const socket = connect(Number(port), '127.0.0.1')
  const closed = new Promise<void>(resolve => { socket.once('close', () => resolve()) })
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-type: text/long\r\ncontent-length: 1000000\r\n\r\nsome of it')
  t.match(await waitForText(socket, /enough/), /^HTTP\/1\.1 200 /)
  await closed
})
