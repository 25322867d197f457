import type { Test } from 'tap'
import { createGatewayClient, unlimitedPlans, type Client } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { toComparable } from './foreign-ids.js'

/** Every route below which a webhook is named, as a request of it. */
const requests: ReadonlyArray<readonly [method: string, path: string, body?: unknown]> = [
  ['GET', ''],
  ['HEAD', ''],
  ['GET', '?x=1'],
  ['PATCH', '', { enabled: false }],
  ['PATCH', '', { url: 'https://evil.example.org/' }],
  ['PATCH', '', { secret: 'whsec_AAAA' }],
  ['DELETE', ''],
  ['DELETE', '?x=1'],
  ['POST', '/roll', {}],
  ['POST', '/test', {}],
  ['POST', '/resend', { since: '2020-01-01T00:00:00Z' }],
  ['POST', '/resend', {}],
  ['GET', '/deliveries'],
  ['GET', '/deliveries?count=1'],
  ['GET', '/deliveries?cursor=x']
]

/** The routes of webhooks that are probed here. */
export const probedWebhookRoutes = [
  '/v1/webhooks',
  '/v1/webhooks/:id',
  ...['deliveries', 'resend', 'roll', 'test'].map(name => `/v1/webhooks/:id/${name}`)
]

/**
 * The probe "another tenant's webhook" for every route that names one: the response must be that for an unknown
 * webhook, and nothing may change.
 */
export async function probeForeignWebhooks (t: Test): Promise<void> {
  const gateway = await startGateway(t, { plans: unlimitedPlans })
  const [client, other] = [await createGatewayClient(gateway), await createGatewayClient(gateway)]
  const live = await createGatewayClient(gateway, { tenantId: client.tenantId, mode: 'live' })
  const make = async (owner: Client) =>
    (await owner.send('POST', 'webhooks', { url: 'https://files.example.org/a', enabled: false })).data as { id: string }
  const strangers = { foreign: await make(other), 'of the other mode': await make(live) }
  const fetchStored = () => Promise.all([other, live].map(async owner => (await owner.send('GET', 'webhooks')).data))
  const before = await fetchStored()
  for (const [method, path, body] of requests) {
    const unknown = toComparable(await client.send(method, `webhooks/whk_${'a'.repeat(26)}${path}`, body))
    for (const [name, { id }] of Object.entries(strangers)) {
      t.strictSame(toComparable(await client.send(method, `webhooks/${id}${path}`, body)), unknown, `${method} ${path}: ${name}`)
    }
    for (const odd of ['1', 'whk_', `whk_${'A'.repeat(26)}`, 'x'.repeat(65), '%00', "'--"]) {
      t.strictSame(toComparable(await client.send(method, `webhooks/${odd}${path}`, body)), unknown, `${method} ${path}: ${odd}`)
    }
  }
  t.strictSame((await client.send('GET', 'webhooks')).data, { data: [], total: 0, hasMore: false }, 'none is listed')
  t.strictSame(await fetchStored(), before, 'nothing was changed')
  await probeCursors(t, { gateway, client, other })
}

/** A cursor of another webhook's deliveries leads to none of them. */
async function probeCursors (
  t: Test,
  { gateway, client, other }: {
    readonly gateway: Awaited<ReturnType<typeof startGateway>>
    readonly client: Client
    readonly other: Client
  }
): Promise<void> {
  const own = (await client.send('POST', 'webhooks', { url: 'https://files.example.org/a', enabled: false })).data.id
  const foreign = (await other.send('POST', 'webhooks', { url: 'https://receiver.invalid/', enabled: false })).data.id
  const scope = { tenantId: other.tenantId, mode: 'test' } as const
  for (let at = 1; at <= 2; at++) {
    await other.send('POST', `webhooks/${foreign}/test`, {})
    while ((await gateway.control.webhooks.deliveries(foreign, scope, { count: 5 })).deliveries.length < at) {
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  const { cursor } = (await other.send('GET', `webhooks/${foreign}/deliveries?count=1`)).data
  t.match(cursor, /^dlv_/)
  t.strictSame((await client.send('GET', `webhooks/${own}/deliveries?cursor=${cursor}`)).data, { data: [], hasMore: false })
}
