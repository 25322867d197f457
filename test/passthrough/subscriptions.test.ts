import t from 'tap'
import { createGatewayClient, unlimitedPlans } from '../harness/client.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'
import type { Scope } from '../../src/keys/caller.js'

const guide = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition'

/** Nothing listens there, so the handshake fails. */
const endpoint = 'https://127.0.0.1:1/hook'
const webhooks = { privateNetworks: ['127.0.0.1/32'] }

t.test('/v1/fhir/Subscription', { timeout: 120_000 }, async t => {
  const gateway = await startGateway(t, { plans: unlimitedPlans, config: { webhooks, events: { enabled: true } } })
  const fhirBase = /(.*)\/SubscriptionTopic\/Patient$/.exec(JSON.stringify((await fetchStatement()).rest[0].resource)
    .match(/"valueCanonical":"([^"]*\/Patient)"/)![1]!)![1]!

  async function fetchStatement () {
    return JSON.parse((await gateway.inject({ url: '/v1/fhir/metadata' })).body)
  }

  const buildSubscription = (rest: object = {}, channel: object = {}) => ({
    resourceType: 'Subscription',
    status: 'requested',
    reason: 'a test',
    criteria: `${fhirBase}/SubscriptionTopic/Patient`,
    channel: {
      type: 'rest-hook',
      endpoint,
      payload: 'application/fhir+json',
      _payload: { extension: [{ url: `${guide}/backport-payload-content`, valueCode: 'id-only' }] },
      ...channel
    },
    ...rest
  })

  /** A client of raw FHIR with a key of its own. */
  async function createFhirClient (
    options: { tenantId?: string, scopes?: readonly Scope[] } = {}, of: TestGateway = gateway
  ) {
    const { tenantId, secret } = await of.createKey(options)
    const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
      const response = await of.inject({
        method: method as 'GET',
        url: `/v1/fhir/${path}`,
        headers: { 'x-api-key': secret, ...body !== undefined && { 'content-type': 'application/fhir+json' }, ...headers },
        ...body !== undefined && { payload: JSON.stringify(body) }
      })
      const { statusCode: status, body: text } = response
      return { status, text, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
    }
    return { tenantId, send }
  }

  await t.test('a subscription is made, read, searched, updated and deleted', async t => {
    const { send } = await createFhirClient()
    const sent = buildSubscription({ end: '2099-01-01T00:00:00.000Z', contact: [{ system: 'email', value: 'a@example.org' }] }, {
      extension: [
        { url: `${guide}/backport-heartbeat-period`, valueUnsignedInt: 3600 },
        { url: `${guide}/backport-timeout`, valueUnsignedInt: 60 },
        { url: `${guide}/backport-max-count`, valuePositiveInt: 20 }
      ],
      header: ['Authorization: Bearer sesame']
    })
    const made = await send('POST', 'Subscription', sent)
    t.equal(made.status, 201, made.text)
    const { id, meta, ...rest } = made.body
    t.match(made.headers, { location: `${fhirBase}/Subscription/${id}/_history/1`, etag: 'W/"1"' })
    t.match(meta, { versionId: '1', profile: [`${guide}/backport-subscription`] })
    t.strictSame(rest, { ...sent, channel: { ...sent.channel, header: ['Authorization: *****'] } }, 'lossless but for the secret')
    t.notMatch(made.text, 'sesame')
    await waitUntil(async () => (await send('GET', `Subscription/${id}`)).body.status === 'error')
    const read = await send('GET', `Subscription/${id}`)
    t.match(read.body, { status: 'error', error: /handshake failed/ })
    t.equal((await send('GET', `Subscription/${id}`, undefined, { 'if-none-match': 'W/"1"' })).status, 304)
    for (const [query, total] of [
      ['', 1], ['?status=error', 1], ['?status=active', 0], ['?status=active,error', 1], [`?_id=${id}`, 1], ['?_id=x', 0],
      [`?url=${encodeURIComponent(endpoint)}`, 1], [`?criteria=${encodeURIComponent(sent.criteria)}&status=error`, 1]
    ] as const) {
      const found = await send('GET', `Subscription${query}`)
      t.match(found.body, { type: 'searchset', total }, query)
      t.equal(found.body.entry?.length ?? 0, total)
    }
    t.equal((await send('PUT', `Subscription/${id}`, read.body)).status, 422, 'a client decides to start it again')
    t.equal((await send('PUT', `Subscription/${id}`, { ...read.body, status: 'off' }, { 'if-match': 'W/"7"' })).status, 412)
    const changed = await send('PUT', `Subscription/${id}`, { ...read.body, status: 'off', reason: 'another' }, { 'if-match': 'W/"1"' })
    t.match(changed, { status: 200, body: { status: 'off', reason: 'another', meta: { versionId: '2' }, error: undefined } })
    t.equal((await send('DELETE', `Subscription/${id}`)).status, 204)
    t.equal((await send('GET', `Subscription/${id}`)).status, 404)
  })

  await t.test('$status and $events say what became of changes through the gateway', async t => {
    const { send } = await createFhirClient()
    const { body: { id } } = await send('POST', 'Subscription', buildSubscription())
    const { status: made, body: created } = await send('POST', 'Patient', { resourceType: 'Patient' })
    t.equal(made, 201)
    await send('POST', 'Observation', {
      resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject: { reference: `Patient/${created.id}` }
    })
    await waitUntil(async () => (await send('GET', `Subscription/${id}/$events`)).body.entry.length === 2)
    const events = (await send('GET', `Subscription/${id}/$events?eventsSinceNumber=1&content=id-only`)).body
    t.match(events, {
      type: 'history',
      entry: [
        { resource: { parameter: [{}, {}, {}, { valueCode: 'query-event' }, { valueString: '1' }, { name: 'notification-event' }] } },
        { fullUrl: `${fhirBase}/Patient/${created.id}` }
      ]
    })
    t.equal((await send('GET', `Subscription/${id}/$events?eventsSinceNumber=2`)).body.entry.length, 1)
    const parameters = { resourceType: 'Parameters', parameter: [{ name: 'eventsUntilNumber', valueString: '1' }] }
    t.equal((await send('POST', `Subscription/${id}/$events`, parameters)).body.entry.length, 2)
    const status = { resource: { resourceType: 'Parameters', parameter: [{}, {}, {}, { valueCode: 'query-status' }, { valueString: '1' }] } }
    for (const [path, total] of [
      [`Subscription/${id}/$status`, 1], ['Subscription/$status', 1], [`Subscription/$status?id=${id}&id=x`, 1],
      ['Subscription/$status?id=x', 0], ['Subscription/%24status?status=off', 0]
    ] as const) {
      t.match((await send('GET', path)).body, { type: 'searchset', total, ...total > 0 && { entry: [status] } }, path)
    }
    const byPost = { resourceType: 'Parameters', parameter: [{ name: 'id', valueId: id }] }
    t.match((await send('POST', 'Subscription/$status', byPost)).body, { total: 1 })
  })

  await t.test('what is not supported is refused with its path, and no value is repeated', async t => {
    const { send } = await createFhirClient()
    const buildExtension = (...more: object[]) => ({ extension: more })
    const buildPayload = (valueCode: string) => ({ _payload: { extension: [{ url: `${guide}/backport-payload-content`, valueCode }] } })
    const cases: ReadonlyArray<readonly [path: string, body: object]> = [
      ['Subscription.criteria', buildSubscription({ criteria: 'Patient?name=sneaky' })],
      ['Subscription.criteria', buildSubscription({ criteria: 'https://sneaky.example.org/SubscriptionTopic/Patient' })],
      ['Subscription.criteria', buildSubscription({ criteria: `${fhirBase}/SubscriptionTopic/Subscription` })],
      ['Subscription.criteria', buildSubscription({ criteria: `${fhirBase}/SubscriptionTopic/Sneaky` })],
      ['Subscription.criteria.extension', buildSubscription({
        _criteria: { extension: [{ url: `${guide}/backport-filter-criteria`, valueString: 'Patient?name=sneaky' }] }
      })],
      ['Subscription.channel.type', buildSubscription({}, { type: 'websocket' })],
      ['Subscription.channel.type.extension', buildSubscription({}, {
        _type: { extension: [{ url: `${guide}/backport-channel-type`, valueCoding: { code: 'sneaky' } }] }
      })],
      ['Subscription.channel.endpoint', buildSubscription({}, { endpoint: 'http://sneaky.example.org/' })],
      ['Subscription.channel.endpoint', buildSubscription({}, { endpoint: 'https://user:sneaky@example.org/' })],
      ['Subscription.channel.endpoint', buildSubscription({}, { endpoint: undefined })],
      ['Subscription.channel.payload', buildSubscription({}, { payload: 'application/fhir+xml' })],
      ['Subscription.channel.payload.extension', buildSubscription({}, buildPayload('full-resource'))],
      ['Subscription.channel.payload.extension', buildSubscription({}, { _payload: undefined })],
      ['Subscription.channel.header[0]', buildSubscription({}, { header: ['Host: sneaky.example.org'] })],
      ['Subscription.channel.header[0]', buildSubscription({}, { header: ['X-A: sneaky\r\nHost: x'] })],
      ['Subscription.channel.header[0]', buildSubscription({}, { header: ['Authorization: *****'] })],
      ['Subscription.channel.extension[0]', buildSubscription({}, buildExtension({ url: 'https://sneaky.example.org', valueString: 'x' }))],
      ['Subscription.channel.extension[0]', buildSubscription({}, buildExtension({ url: `${guide}/backport-heartbeat-period`, valueUnsignedInt: 1 }))],
      ['Subscription.status', buildSubscription({ status: 'error' })],
      ['Subscription.end', buildSubscription({ end: '2001-01-01T00:00:00Z' })],
      ['Subscription.meta.tag', buildSubscription({ meta: { tag: [{ system: 'https://sneaky.example.org', code: 'x' }] } })],
      ['Subscription.reason', buildSubscription({ reason: 'sneaky'.repeat(200) })],
      ['Subscription.contact', buildSubscription({ contact: [{ system: 'email', value: 'sneaky'.repeat(1_000) }] })],
      ['Subscription.language', buildSubscription({ language: 'en' })]
    ]
    for (const [path, body] of cases) {
      const { status, body: outcome, text } = await send('POST', 'Subscription', body)
      t.equal(status, 422, `${path}: ${text}`)
      t.ok(outcome.issue.some(({ expression }: { expression?: string[] }) => expression?.includes(path)), `${path}: ${text}`)
      t.notMatch(text, /sneaky/i)
    }
    for (const [method, path, body, status] of [
      ['POST', 'Subscription', { resourceType: 'Patient' }, 400],
      ['POST', 'Subscription?x=1', buildSubscription(), 400],
      ['GET', 'Subscription?name=sneaky', undefined, 400],
      ['GET', 'Subscription/$status?name=sneaky', undefined, 400],
      ['PATCH', 'Subscription/x', undefined, 405],
      ['PUT', 'Subscription?status=active', buildSubscription(), 405],
      ['DELETE', 'Subscription', undefined, 405],
      ['GET', 'Subscription/x/_history', undefined, 405],
      ['GET', 'Subscription/$get-ws-binding-token', undefined, 405],
      ['POST', '', { resourceType: 'Bundle', type: 'transaction', entry: [{ resource: buildSubscription(), request: { method: 'POST', url: 'Subscription' } }] }, 405]
    ] as const) {
      const response = await send(method, path, body)
      t.equal(response.status, status, `${method} ${path}: ${response.text}`)
      t.notMatch(response.text, /sneaky/i)
    }
    t.equal((await send('POST', 'Subscription', buildSubscription(), { 'idempotency-key': 'a' })).status, 400)
    t.equal((await send('POST', 'Subscription', buildSubscription(), { 'if-none-exist': 'status=active' })).status, 400)
    t.match((await send('GET', 'Subscription')).body, { total: 0 })
  })

  await t.test('a key subscribes only to types that it may read, and sees no other subscriptions', async t => {
    const all = await createFhirClient()
    const { body: { id } } = await all.send('POST', 'Subscription', buildSubscription())
    const withScopes = async (...scopes: Scope[]) => (await createFhirClient({ tenantId: all.tenantId, scopes })).send
    for (const scopes of [['read', 'write'], ['fhir/Patient:*']] as Scope[][]) {
      const send = await withScopes(...scopes)
      t.equal((await send('POST', 'Subscription', buildSubscription())).status, 403, String(scopes))
      t.equal((await send('GET', 'Subscription')).status, 403)
      t.equal((await send('GET', `Subscription/${id}`)).status, 403)
    }
    const simple = await withScopes('webhooks', 'patients:read', 'fhir/Observation:read')
    t.equal((await simple('POST', 'Subscription', buildSubscription())).status, 403, 'a scope of a simple resource opens no raw FHIR')
    for (const [method, path, body] of [
      ['GET', '', undefined], ['PUT', '', buildSubscription()], ['DELETE', '', undefined], ['GET', '/$status', undefined], ['GET', '/$events', undefined]
    ] as const) t.equal((await simple(method, `Subscription/${id}${path}`, body)).status, 404, `${method} ${path}`)
    t.match((await simple('GET', 'Subscription')).body, { total: 0 })
    t.match((await simple('GET', 'Subscription/$status')).body, { total: 0 })
    t.equal((await simple('POST', 'Subscription', buildSubscription({ criteria: `${fhirBase}/SubscriptionTopic/Observation` }))).status, 201)
    t.match((await simple('GET', 'Subscription')).body, { total: 1 })
    t.match((await all.send('GET', 'Subscription')).body, { total: 2 })
    const client = await createGatewayClient(gateway, { tenantId: all.tenantId })
    t.match((await client.send('GET', 'webhooks')).data, { data: [] }, 'a subscription is no webhook')
  })

  await t.test('the CapabilityStatement names topics, profile and operations', async t => {
    const { instantiates, rest: [{ resource: resources }] } = await fetchStatement()
    t.match(instantiates, [/backport-subscription-server-r4$/])
    const stated = resources.find(({ type }: { type: string }) => type === 'Subscription')
    t.match(stated, {
      supportedProfile: [`${guide}/backport-subscription`],
      interaction: [{ code: 'read' }, { code: 'update' }, { code: 'delete' }, { code: 'create' }, { code: 'search-type' }],
      operation: [{ name: 'status' }, { name: 'events' }]
    })
  })

  await t.test('where events are switched off, subscriptions are refused with the name of the setting', async t => {
    const other = await startGateway(t, { plans: unlimitedPlans })
    const { send } = await createFhirClient({}, other)
    for (const [method, path, body] of [['POST', '', buildSubscription()], ['GET', '', undefined], ['GET', '/x', undefined], ['GET', '/$status', undefined]] as const) {
      t.match(await send(method, `Subscription${path}`, body), { status: 405, text: /events\.enabled/ }, `${method} ${path}`)
    }
    const { rest: [{ resource: resources }] } = JSON.parse((await other.inject({ url: '/v1/fhir/metadata' })).body)
    t.notOk(resources.some(({ type }: { type: string }) => type === 'Subscription'))
  })
})
