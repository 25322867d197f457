import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import fastify from 'fastify'
import { test } from 'tap'
import { drainConnections } from '../../src/http/connection-draining.js'
import { Readiness } from '../../src/http/readiness.js'
import { serverOptions } from '../../src/http/server-options.js'

// An idle connection would hold it up for 72 seconds.
const heldUpMs = 30_000

test('a server closes once the answers are out that had begun before, though their connections could be kept', async t => {
  const app = fastify(serverOptions({ now: () => new Date() }))
  await app.register(drainConnections, { readiness: new Readiness() })
  const content = new PassThrough()
  app.get('/', (_, reply) => reply.send(content))
  await app.listen({ port: 0 })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  content.write('begun')
  const { port } = app.server.address() as AddressInfo
  const [answer] = (await once(request({ port, agent }).end(), 'response')) as [IncomingMessage]
  t.equal(answer.headers.connection, 'keep-alive')
  const closed = app.close().then(() => 'closed')
  await new Promise(resolve => setTimeout(resolve, 50))
  content.end('ended')
  answer.resume()
  const late = new Promise(resolve => setTimeout(resolve, heldUpMs, 'held up').unref())
  t.equal(await Promise.race([closed, late]), 'closed')
})
