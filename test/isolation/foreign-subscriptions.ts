import type { Test } from 'tap'
import { createGatewayClient, unlimitedPlans, type Client } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { toComparable } from './foreign-ids.js'

const guide = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition'

const subscription = (fhirBase: string, rest: object = {}) => ({
  resourceType: 'Subscription',
  status: 'off',
  reason: 'a test',
  criteria: `${fhirBase}/SubscriptionTopic/Patient`,
  channel: {
    type: 'rest-hook',
    endpoint: 'https://files.example.org/a',
    payload: 'application/fhir+json',
    _payload: { extension: [{ url: `${guide}/backport-payload-content`, valueCode: 'id-only' }] }
  },
  ...rest
})

/** The routes of subscriptions that are probed here. */
export const probedSubscriptionRoutes = ['/v1/fhir/Subscription', '/v1/fhir/Subscription*']

/** Every path below which a subscription is named, as a request of it. */
const listRequests = (fhirBase: string): ReadonlyArray<readonly [method: string, path: string, body?: unknown]> => [
  ['GET', ''],
  ['HEAD', ''],
  ['GET', '?x=1'],
  ['PUT', '', subscription(fhirBase)],
  ['PUT', '', subscription(fhirBase, { status: 'requested' })],
  ['PUT', '', subscription(fhirBase, { criteria: `${fhirBase}/SubscriptionTopic/Observation` })],
  ['PUT', '', { resourceType: 'Subscription' }],
  ['PATCH', '', []],
  ['DELETE', ''],
  ['DELETE', '?x=1'],
  ['POST', '', subscription(fhirBase)],
  ['GET', '/$status'],
  ['POST', '/$status', { resourceType: 'Parameters' }],
  ['GET', '/$events'],
  ['GET', '/$events?eventsSinceNumber=1'],
  ['POST', '/$events', { resourceType: 'Parameters' }],
  ['GET', '/$resend'],
  ['GET', '/_history'],
  ['GET', '/_history/1']
]

/**
 * The probe "another tenant's subscription" for every path that names one: the response must be that for an unknown
 * subscription, and nothing may change.
 */
export async function probeForeignSubscriptions (t: Test): Promise<void> {
  const gateway = await startGateway(t, { plans: unlimitedPlans, config: { events: { enabled: true } } })
  const [client, other] = [await createGatewayClient(gateway), await createGatewayClient(gateway)]
  const live = await createGatewayClient(gateway, { tenantId: client.tenantId, mode: 'live' })
  const { implementation: { url: fhirBase } } = (await client.send('GET', 'fhir/metadata')).body
  const fhir = { 'content-type': 'application/fhir+json' }
  const sendRequest = (owner: Client, method: string, path: string, body?: unknown) =>
    owner.send(method, `fhir/Subscription${path}`, body, body === undefined ? {} : fhir)
  const make = async (owner: Client): Promise<string> => (await sendRequest(owner, 'POST', '', subscription(fhirBase))).body.id
  const strangers = { foreign: await make(other), 'of the other mode': await make(live) }
  await other.send('POST', 'fhir/Patient', { resourceType: 'Patient' }, fhir)
  const fetchStored = () => Promise.all([other, live].map(async owner => (await sendRequest(owner, 'GET', '')).body.entry))
  const before = await fetchStored()
  t.match(before, [[{ resource: { status: 'off' } }], [{ resource: { status: 'off' } }]])
  for (const [method, path, body] of listRequests(fhirBase)) {
    const unknown = toComparable(await sendRequest(client, method, `/sub-${'a'.repeat(26)}${path}`, body))
    for (const [name, id] of Object.entries(strangers)) {
      t.strictSame(toComparable(await sendRequest(client, method, `/${id}${path}`, body)), unknown, `${method} ${path}: ${name}`)
    }
    for (const odd of ['1', 'sub-', `sub-${'A'.repeat(26)}`, 'x'.repeat(64)]) {
      t.strictSame(toComparable(await sendRequest(client, method, `/${odd}${path}`, body)), unknown, `${method} ${path}: ${odd}`)
    }
  }
  const ids = Object.values(strangers)
  for (const path of ['', `?_id=${ids.join(',')}`, `/$status?${ids.map(id => `id=${id}`).join('&')}`, '/$status']) {
    const { status, body } = await sendRequest(client, 'GET', path)
    t.match({ status, total: body.total, entry: body.entry }, { status: 200, total: 0, entry: undefined }, `none is in ${path}`)
  }
  t.strictSame(await fetchStored(), before, 'nothing was changed')
}
