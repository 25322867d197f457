import fastify from 'fastify'
import t, { type Test } from 'tap'
import { linkRoutes } from '../../src/control-plane/sync/routes.js'
import { createRemoteLink } from '../../src/control-plane/sync/remote.js'
import { receiverCalls } from '../../src/control-plane/sync/receiver-messages.js'
import type { SubscriptionDraft, Subscriptions } from '../../src/events/subscriptions/subscription.js'
import type { Webhooks } from '../../src/events/webhooks/webhook.js'
import { makeFileDatabase } from '../control-store/databases.js'
import { openWebhookStore } from '../control-store/webhooks-contract.js'
import { startControlPlane } from './control-plane.js'

const url = 'https://files.example.org/hook'

/** The webhooks of a control store, as a gateway in another process calls them. */
async function createLinkedWebhooks (
  t: Test, receivers: { readonly webhooks: Webhooks, readonly subscriptions: Subscriptions }
) {
  const app = fastify()
  await app.register(linkRoutes, {
    prefix: '/control/v1/link',
    store: {
      feed: undefined as never,
      jobs: undefined as never,
      report: async () => {},
      applyUsage: async () => ({ number: 0, batchId: '' }),
      webhooks: receivers.webhooks,
      subscriptions: receivers.subscriptions
    },
    findGatewayName: async () => 'one'
  } as never)
  t.teardown(() => app.close())
  const link = createRemoteLink({ url: await app.listen({ host: '127.0.0.1', port: 0 }), token: 'cg_gateway_x' })
  t.teardown(() => link.close())
  return link
}

t.test('over the link, every call has the same result as in the control store', async t => {
  const { store, owner, append } = await openWebhookStore(t, makeFileDatabase)
  const { webhooks } = await createLinkedWebhooks(t, store)
  // A caller of the gateway has more members than a scope.
  const caller = { ...owner, keyId: 'key-a', scopes: ['*'] }
  const { secret, ...made } = await webhooks.create({ url, types: ['patients.*'], description: 'x' }, caller)
  t.match(secret, /^whsec_/)
  t.strictSame(await webhooks.list(caller), [made])
  t.strictSame(await webhooks.find(made.id, caller), await store.webhooks.find(made.id, owner))
  t.match(await webhooks.change(made.id, caller, { enabled: false }), { enabled: false })
  t.not((await webhooks.roll(made.id, caller)).secret, secret)
  t.match(await webhooks.test(made.id, caller), { eventId: /^evt_/ })
  t.strictSame(await webhooks.deliveries(made.id, caller, { count: 1 }), { deliveries: [], hasMore: false })
  await append({})
  t.strictSame(await webhooks.resend(made.id, caller, '2029-01-01T00:00:00Z'), { events: 1 })
  await webhooks.remove(made.id, caller)
  t.strictSame(await store.webhooks.list(owner), [])
})

t.test('a rejection by the control plane arrives unchanged, and any other failure as one that clients may see', async t => {
  const { store, owner, otherTenant } = await openWebhookStore(t, makeFileDatabase)
  const { webhooks } = await createLinkedWebhooks(t, store)
  const { id } = await store.webhooks.create({ url }, { ...owner, tenantId: otherTenant })
  await t.rejects(webhooks.find(id, owner), { name: 'ControlError', reason: 'missing' } as object as Error)
  await t.rejects(webhooks.create({ url: 'http://a.example' }, owner), { reason: 'invalid', field: 'url' } as object as Error)
  await store.close()
  await t.rejects(webhooks.list(owner), { name: 'Failure', code: 'BACKEND_UNAVAILABLE' } as object as Error)
})

t.test('webhooks are accessible with valid tokens of gateways alone, and an invalid call is rejected', async t => {
  const { app, token } = await startControlPlane(t)
  const postCall = async (name: string, payload: unknown, { secret = token, path = 'webhooks' } = {}) =>
    (await app.inject({
      method: 'POST',
      url: `/control/v1/link/${path}/${name}`,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      payload: JSON.stringify(payload)
    })).statusCode
  for (const [path, name] of receiverCalls) {
    t.equal(await postCall(name, [], { path, secret: 'cg_gateway_wrong' }), 401, name)
    t.equal(await postCall(name, [], { path }), 400, name)
  }
  const scope = { tenantId: 'org-a', mode: 'test' }
  const owner = { ...scope, by: 'key:a' }
  for (const [name, payload] of [
    ['create', [{ url, secret: 'whsec_x' }, owner]],
    ['create', [{ url }, { ...owner, more: 1 }]],
    ['create', [{ url }, { ...owner, mode: 'x' }]],
    ['list', [{ tenantId: 'org-a' }]],
    ['find', ['a/b', scope]],
    ['deliveries', ['whk_a', scope, { count: 101 }]],
    ['resend', ['whk_a', owner, 'yesterday']],
    ['change', ['whk_a', owner, {}]]
  ] as const) t.equal(await postCall(name, payload), 400, `${name} ${JSON.stringify(payload)}`)
})

t.test('over the link, every call of subscriptions has the same result as in the control store', async t => {
  const { store, owner, append } = await openWebhookStore(t, makeFileDatabase)
  const { subscriptions } = await createLinkedWebhooks(t, store)
  const caller = { ...owner, keyId: 'key-a', scopes: ['*'] }
  const draft: SubscriptionDraft = {
    type: 'Patient',
    fhirBase: 'https://gateway.example.org/v1/fhir',
    endpoint: url,
    content: 'id-only',
    headers: ['Authorization: Bearer sesame'],
    heartbeatSeconds: 60,
    reason: 'a test',
    end: '2031-01-01T00:00:00Z',
    contact: '[{"system":"email","value":"a@example.org"}]',
    status: 'requested'
  }
  const made = await subscriptions.create(draft, caller)
  t.strictSame(await subscriptions.list(caller), [made])
  t.strictSame(await subscriptions.find(made.id, caller), await store.subscriptions.find(made.id, owner))
  t.match(await subscriptions.replace(made.id, caller, { draft: { ...draft, status: 'off' }, version: 1 }), {
    status: 'off', version: 2
  })
  await append({})
  t.match(await subscriptions.events(made.id, caller, { since: 1 }), [{ number: 1, event: { resourceId: 'p1' } }])
  await t.rejects(subscriptions.create({ ...draft, endpoint: 'http://a.example' }, caller), { field: 'channel.endpoint' } as object as Error)
  await subscriptions.remove(made.id, caller)
  await t.rejects(subscriptions.find(made.id, caller), { reason: 'missing' } as object as Error)
})
