import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { test } from 'tap'
import { createMalformedHttpHandler } from '../../src/envelope/malformed-http.js'
import { limitBodyTime } from '../../src/http/request-timeout.js'

test('a body that does not arrive in time ends its request, and a streamed one may take as long as it keeps arriving', async t => {
  const app = fastify({ clientErrorHandler: createMalformedHttpHandler(() => new Date()), requestTimeout: 0 })
  t.after(() => app.close())
  app.addHook('onRequest', async request => limitBodyTime(request, 100))
  app.addContentTypeParser('text/slow', (_, body, done) => done(null, body))
  app.post('/short', async () => 'done')
  app.post('/streamed', { config: { isStreamed: true } }, async request => {
    let size = 0
    for await (const chunk of request.body as AsyncIterable<Buffer>) size += chunk.length
    return `got ${size}`
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const send = async (path: string, type: string, finish: boolean): Promise<string> => {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
    const received: string[] = []
    socket.on('data', data => received.push(String(data)))
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: ${type}\r\ncontent-length: 4\r\n\r\nab`
    )
    if (finish) setTimeout(() => socket.write('cd'), 400)
    await once(socket, 'close')
    return received.join('')
  }
  t.match(await send('/short', 'text/plain', false), /^HTTP\/1\.1 400 .*Send the complete request faster/s)
  t.match(await send('/streamed', 'text/slow', true), /got 4/)
})
