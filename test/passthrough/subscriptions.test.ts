import t from 'tap'
import { clientOf, unlimitedPlans } from '../harness/client.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'
import type { Scope } from '../../src/keys/caller.js'

const guide = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition'

/** Nothing listens there, so the handshake fails. */
const endpoint = 'https://127.0.0.1:1/hook'

t.test('/v1/fhir/Subscription', { timeout: 120_000 }, async t => {
  const gateway = await startGateway(t, { plans: unlimitedPlans, config: { events: { enabled: true } } })
  const fhirBase = /(.*)\/SubscriptionTopic\/Patient$/.exec(JSON.stringify((await statement()).rest[0].resource)
    .match(/"valueCanonical":"([^"]*\/Patient)"/)![1]!)![1]!

  async function statement () {
    return JSON.parse((await gateway.inject({ url: '/v1/fhir/metadata' })).body)
  }

  const resource = (rest: object = {}, channel: object = {}) => ({
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
  async function fhirClient (wish: { tenantId?: string, scopes?: readonly Scope[] } = {}, of: TestGateway = gateway) {
    const { tenantId, secret } = await of.createKey(wish)
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
    const { send } = await fhirClient()
    const sent = resource({ end: '2099-01-01T00:00:00.000Z', contact: [{ system: 'email', value: 'a@example.org' }] }, {
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
    await until(async () => (await send('GET', `Subscription/${id}`)).body.status === 'error')
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
    const { send } = await fhirClient()
    const { body: { id } } = await send('POST', 'Subscription', resource())
    const { status: made, body: created } = await send('POST', 'Patient', { resourceType: 'Patient' })
    t.equal(made, 201)
    await send('POST', 'Observation', {
      resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject: { reference: `Patient/${created.id}` }
    })
    await until(async () => (await send('GET', `Subscription/${id}/$events`)).body.entry.length === 2)
    const events = (await send('GET', `Subscription/${id}/$events?eventsSinceNumber=1&content=id-only`)).body
    t.match(events, {
      type: 'history',
      entry: [
        { resource: { parameter: [{}, {}, {}, { valueCode: 'query-event' }, { valueString: '1' }, { name: 'notification-event' }] } },
        { fullUrl: `${fhirBase}/Patient/${created.id}` }
      ]
    })
    t.equal((await send('GET', `Subscription/${id}/$events?eventsSinceNumber=2`)).body.entry.length, 1)
    const asked = { resourceType: 'Parameters', parameter: [{ name: 'eventsUntilNumber', valueString: '1' }] }
    t.equal((await send('POST', `Subscription/${id}/$events`, asked)).body.entry.length, 2)
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
    const { send } = await fhirClient()
    const extension = (...more: object[]) => ({ extension: more })
    const content = (valueCode: string) => ({ _payload: { extension: [{ url: `${guide}/backport-payload-content`, valueCode }] } })
    const cases: ReadonlyArray<readonly [path: string, body: object]> = [
      ['Subscription.criteria', resource({ criteria: 'Patient?name=sneaky' })],
      ['Subscription.criteria', resource({ criteria: 'https://sneaky.example.org/SubscriptionTopic/Patient' })],
      ['Subscription.criteria', resource({ criteria: `${fhirBase}/SubscriptionTopic/Subscription` })],
      ['Subscription.criteria', resource({ criteria: `${fhirBase}/SubscriptionTopic/Sneaky` })],
      ['Subscription.criteria.extension', resource({
        _criteria: { extension: [{ url: `${guide}/backport-filter-criteria`, valueString: 'Patient?name=sneaky' }] }
      })],
      ['Subscription.channel.type', resource({}, { type: 'websocket' })],
      ['Subscription.channel.type.extension', resource({}, {
        _type: { extension: [{ url: `${guide}/backport-channel-type`, valueCoding: { code: 'sneaky' } }] }
      })],
      ['Subscription.channel.endpoint', resource({}, { endpoint: 'http://sneaky.example.org/' })],
      ['Subscription.channel.endpoint', resource({}, { endpoint: 'https://user:sneaky@example.org/' })],
      ['Subscription.channel.endpoint', resource({}, { endpoint: undefined })],
      ['Subscription.channel.payload', resource({}, { payload: 'application/fhir+xml' })],
      ['Subscription.channel.payload.extension', resource({}, content('full-resource'))],
      ['Subscription.channel.payload.extension', resource({}, { _payload: undefined })],
      ['Subscription.channel.header[0]', resource({}, { header: ['Host: sneaky.example.org'] })],
      ['Subscription.channel.header[0]', resource({}, { header: ['X-A: sneaky\r\nHost: x'] })],
      ['Subscription.channel.header[0]', resource({}, { header: ['Authorization: *****'] })],
      ['Subscription.channel.extension[0]', resource({}, extension({ url: 'https://sneaky.example.org', valueString: 'x' }))],
      ['Subscription.channel.extension[0]', resource({}, extension({ url: `${guide}/backport-heartbeat-period`, valueUnsignedInt: 1 }))],
      ['Subscription.status', resource({ status: 'error' })],
      ['Subscription.end', resource({ end: '2001-01-01T00:00:00Z' })],
      ['Subscription.meta.tag', resource({ meta: { tag: [{ system: 'https://sneaky.example.org', code: 'x' }] } })],
      ['Subscription.reason', resource({ reason: 'sneaky'.repeat(200) })],
      ['Subscription.contact', resource({ contact: [{ system: 'email', value: 'sneaky'.repeat(1_000) }] })],
      ['Subscription.language', resource({ language: 'en' })]
    ]
    for (const [path, body] of cases) {
      const { status, body: outcome, text } = await send('POST', 'Subscription', body)
      t.equal(status, 422, `${path}: ${text}`)
      t.ok(outcome.issue.some(({ expression }: { expression?: string[] }) => expression?.includes(path)), `${path}: ${text}`)
      t.notMatch(text, /sneaky/i)
    }
    for (const [method, path, body, status] of [
      ['POST', 'Subscription', { resourceType: 'Patient' }, 400],
      ['POST', 'Subscription?x=1', resource(), 400],
      ['GET', 'Subscription?name=sneaky', undefined, 400],
      ['GET', 'Subscription/$status?name=sneaky', undefined, 400],
      ['PATCH', 'Subscription/x', undefined, 405],
      ['PUT', 'Subscription?status=active', resource(), 405],
      ['DELETE', 'Subscription', undefined, 405],
      ['GET', 'Subscription/x/_history', undefined, 405],
      ['GET', 'Subscription/$get-ws-binding-token', undefined, 405],
      ['POST', '', { resourceType: 'Bundle', type: 'transaction', entry: [{ resource: resource(), request: { method: 'POST', url: 'Subscription' } }] }, 405]
    ] as const) {
      const answer = await send(method, path, body)
      t.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
      t.notMatch(answer.text, /sneaky/i)
    }
    t.equal((await send('POST', 'Subscription', resource(), { 'idempotency-key': 'a' })).status, 400)
    t.equal((await send('POST', 'Subscription', resource(), { 'if-none-exist': 'status=active' })).status, 400)
    t.match((await send('GET', 'Subscription')).body, { total: 0 })
  })

  await t.test('a key subscribes to types that it may read alone, and sees no other subscriptions', async t => {
    const all = await fhirClient()
    const { body: { id } } = await all.send('POST', 'Subscription', resource())
    const withScopes = async (...scopes: Scope[]) => (await fhirClient({ tenantId: all.tenantId, scopes })).send
    for (const scopes of [['read', 'write'], ['fhir/Patient:*']] as Scope[][]) {
      const send = await withScopes(...scopes)
      t.equal((await send('POST', 'Subscription', resource())).status, 403, String(scopes))
      t.equal((await send('GET', 'Subscription')).status, 403)
      t.equal((await send('GET', `Subscription/${id}`)).status, 403)
    }
    const simple = await withScopes('webhooks', 'patients:read', 'fhir/Observation:read')
    t.equal((await simple('POST', 'Subscription', resource())).status, 403, 'a scope of a simple resource opens no raw FHIR')
    for (const [method, path, body] of [
      ['GET', '', undefined], ['PUT', '', resource()], ['DELETE', '', undefined], ['GET', '/$status', undefined], ['GET', '/$events', undefined]
    ] as const) t.equal((await simple(method, `Subscription/${id}${path}`, body)).status, 404, `${method} ${path}`)
    t.match((await simple('GET', 'Subscription')).body, { total: 0 })
    t.match((await simple('GET', 'Subscription/$status')).body, { total: 0 })
    t.equal((await simple('POST', 'Subscription', resource({ criteria: `${fhirBase}/SubscriptionTopic/Observation` }))).status, 201)
    t.match((await simple('GET', 'Subscription')).body, { total: 1 })
    t.match((await all.send('GET', 'Subscription')).body, { total: 2 })
    const client = await clientOf(gateway, { tenantId: all.tenantId })
    t.match((await client.send('GET', 'webhooks')).data, { data: [] }, 'a subscription is no webhook')
  })

  await t.test('the CapabilityStatement names topics, profile and operations', async t => {
    const { instantiates, rest: [{ resource: resources }] } = await statement()
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
    const { send } = await fhirClient({}, other)
    for (const [method, path, body] of [['POST', '', resource()], ['GET', '', undefined], ['GET', '/x', undefined], ['GET', '/$status', undefined]] as const) {
      t.match(await send(method, `Subscription${path}`, body), { status: 405, text: /events\.enabled/ }, `${method} ${path}`)
    }
    const { rest: [{ resource: resources }] } = JSON.parse((await other.inject({ url: '/v1/fhir/metadata' })).body)
    t.notOk(resources.some(({ type }: { type: string }) => type === 'Subscription'))
  })
})
