/** Receivers of webhooks over https, with a certificate for files.example.org. */
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import type { Test } from 'tap'
import type { AddressRules } from '../../src/net/checked-connection.js'
import type { Delivery } from '../../src/events/webhooks/webhook.js'
import { WebhookDeliverer } from '../../src/events/webhooks/deliverer.js'
import { makeFileDatabase, type MakeDatabase } from '../control-store/databases.js'
import { openWebhookStore } from '../control-store/webhooks-contract.js'
import { waitUntil } from '../harness/until.js'

const [key, cert] = ['source-key.pem', 'source.pem'].map(name =>
  readFileSync(new URL(`../jobs/${name}`, import.meta.url), 'utf8')
)

/** The certificate, which is self-signed. */
export const receiverCa = cert!

/** A request as a receiver got it. */
interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** What a receiver does after it has read a request; the default is 204. */
type Handle = (received: Received, response: ServerResponse, request: IncomingMessage) => void

/** Starts a receiver that goes with the test. */
export async function startReceiver (t: Test, handle: Handle = (_, response) => response.writeHead(204).end()) {
  const received: Received[] = []
  const server = createServer({ key: key!, cert: cert! }, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const one = { path: request.url!, headers: request.headers, body: Buffer.concat(chunks).toString() }
    received.push(one)
    handle(one, response, request)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `https://files.example.org:${port}/hook?from=test`, port, received }
}

/** Rules that resolve the name of the receivers to this machine. */
export const trial = { ca: receiverCa, loopback: true, resolve: async (): Promise<readonly string[]> => ['127.0.0.1'] }

/** Rules by which a webhook may have any address, for tests of what its delivery refuses. */
const allNetworks = { privateNetworks: ['0.0.0.0/0', '::/0'] }

/** A control store, and a deliverer over it. The clock is that of the machine unless the test sets it. */
export async function startDelivery (
  t: Test, rules: AddressRules = { trial }, makeDatabase: MakeDatabase = makeFileDatabase
) {
  const scene = await openWebhookStore(t, makeDatabase, allNetworks)
  scene.clock.ms = Date.now()
  const { store, owner } = scene
  const begin = (options: Partial<ConstructorParameters<typeof WebhookDeliverer>[0]> = {}) => new WebhookDeliverer({
    queue: store.webhookQueue,
    rules,
    version: '1.2.3',
    now: () => new Date(scene.clock.ms),
    log: fastify().log,
    lookMs: 10,
    ...options
  })
  const deliverer = begin()
  t.teardown(() => deliverer.close())
  const waitForDeliveries = async (id: string, count: number): Promise<readonly Delivery[]> => {
    let found: readonly Delivery[] = []
    await waitUntil(async () => {
      found = (await store.webhooks.deliveries(id, owner, { count: 100 })).deliveries
      return found.length >= count
    })
    return found
  }
  return { ...scene, deliverer, begin, waitForDeliveries }
}
