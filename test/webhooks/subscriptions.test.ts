import t from 'tap'
import type { SubscriptionDraft } from '../../src/events/subscriptions/subscription.js'
import { parseStrict } from '../../src/json/json.js'
import { validateStructure } from '../../src/mappings/r4/structure.js'
import { waitUntil } from '../harness/until.js'
import { startDelivery, startReceiver, trial } from './receivers.js'

t.setTimeout(120_000)

const fhirBase = 'https://gateway.example.org/v1/fhir'

const buildDraft = (endpoint: string, rest: Partial<SubscriptionDraft> = {}): SubscriptionDraft => ({
  type: 'Patient', fhirBase, endpoint, content: 'id-only', headers: [], reason: 'a test', status: 'requested', ...rest
})

t.test('a receiver gets the handshake and then each event, as Bundles of R4 with ids only', async t => {
  const { store, owner, append } = await startDelivery(t)
  const { url, received } = await startReceiver(t)
  const { id } = await store.subscriptions.create(
    buildDraft(url, { headers: ['Authorization: Bearer sesame', 'X-Hook: one'] }), owner)
  await waitUntil(() => received.length === 1)
  await append({ resourceId: 'p-1' }, { resourceId: 'p-2', type: 'patients.deleted' }, { resourceId: 'l-1', type: 'labs.created' })
  await waitUntil(() => received.length === 3)
  for (const { headers, body } of received) {
    t.match(headers, {
      'content-type': 'application/fhir+json',
      authorization: 'Bearer sesame',
      'x-hook': 'one',
      'user-agent': 'clinigate/1.2.3',
      'webhook-signature': undefined
    })
    t.strictSame(validateStructure(parseStrict(Buffer.from(body)) as never), [])
  }
  const [handshake, ...notifications] = received.map(({ body }) => JSON.parse(body))
  t.match(handshake, {
    resourceType: 'Bundle',
    type: 'history',
    entry: [{
      fullUrl: /^urn:uuid:[0-9a-f-]{36}$/,
      resource: {
        resourceType: 'Parameters',
        parameter: [
          { name: 'subscription', valueReference: { reference: `${fhirBase}/Subscription/${id}` } },
          { name: 'topic', valueCanonical: `${fhirBase}/SubscriptionTopic/Patient` },
          { name: 'status', valueCode: 'requested' },
          { name: 'type', valueCode: 'handshake' },
          { name: 'events-since-subscription-start', valueString: '0' }
        ]
      },
      request: { method: 'GET', url: `${fhirBase}/Subscription/${id}/$status` }
    }]
  })
  const getEventNumber = (bundle: any) => Number(bundle.entry[0].resource.parameter[4].valueString)
  const byNumber = notifications.sort((one, other) => getEventNumber(one) - getEventNumber(other))
  t.match(byNumber, [
    {
      entry: [
        {
          resource: {
            parameter: [{}, {}, { valueCode: 'active' }, { valueCode: 'event-notification' }, { valueString: '1' }, {
              name: 'notification-event',
              part: [
                { name: 'event-number', valueString: '1' },
                { name: 'timestamp', valueInstant: /Z$/ },
                { name: 'focus', valueReference: { reference: `${fhirBase}/Patient/p-1` } }
              ]
            }]
          }
        },
        { fullUrl: `${fhirBase}/Patient/p-1`, request: { method: 'POST', url: 'Patient' }, response: { status: '201' } }
      ]
    },
    { entry: [{}, { request: { method: 'DELETE', url: 'Patient/p-2' }, response: { status: '204' } }] }
  ])
})

t.test('with the content empty, a notification names neither record nor topic', async t => {
  const { store, owner, append } = await startDelivery(t)
  const { url, received } = await startReceiver(t)
  await store.subscriptions.create(buildDraft(url, { content: 'empty' }), owner)
  await append({ resourceId: 'p-1' })
  await waitUntil(() => received.length === 2)
  const { body } = received[1]!
  t.match(JSON.parse(body), { entry: { length: 1 } })
  t.notMatch(body, /p-1|SubscriptionTopic/)
  t.match(body, /event-notification/)
})

t.test('the timeout of a subscription applies to its handshake, and a receiver at a private address gets nothing', async t => {
  const { store, owner } = await startDelivery(t)
  const hanging = await startReceiver(t, () => {})
  const slow = await store.subscriptions.create(buildDraft(hanging.url, { timeoutSeconds: 1 }), owner)
  await waitUntil(async () => (await store.subscriptions.find(slow.id, owner)).status === 'error')
  t.match(await store.subscriptions.find(slow.id, owner), { error: 'The handshake failed: no response within 1 seconds.' })
  const guarded = await startDelivery(t, { trial: { ca: trial.ca } })
  const inside = await guarded.store.subscriptions.create(buildDraft(`https://127.0.0.1:${hanging.port}/`), guarded.owner)
  await waitUntil(async () => (await guarded.store.subscriptions.find(inside.id, guarded.owner)).status === 'error')
  t.match(await guarded.store.subscriptions.find(inside.id, guarded.owner), { error: /no public address/ })
  t.equal(hanging.received.length, 1)
})
