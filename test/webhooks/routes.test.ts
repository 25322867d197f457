import t from 'tap'
import { createGatewayClient, unlimitedPlans } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'
import { ControlService } from '../../src/control-plane/store/control-service.js'

const url = 'https://files.example.org/hook'
/** Nothing listens there. */
const closedUrl = 'https://127.0.0.1:1/'
const webhooks = { privateNetworks: ['127.0.0.1/32'] }

t.test('/v1/webhooks', async t => {
  const gateway = await startGateway(t, { plans: unlimitedPlans, config: { webhooks } })
  const send = async () => (await createGatewayClient(gateway)).send

  // A webhook was silently created, and got nothing. /v1/events responded to check the path.
  await t.test('without events, a client that creates a webhook or reads events gets an error that names the setting', async t => {
    const sendRequest = await send()
    const { meta, data: { id } } = JSON.parse((await sendRequest('POST', 'webhooks', { url, types: ['*'] })).text)
    t.match(meta.warnings, [{ severity: 'warning', diagnostics: /switched off here.*test events alone.*events\.enabled/ }])
    await sendRequest('DELETE', `webhooks/${id}`)
    t.match(await sendRequest('GET', 'events'), { status: 404, text: /Events are switched off here.*events\.enabled/ })
  })

  await t.test('a webhook is created, read, changed, rolled and deleted; its secret is shown when it is new', async t => {
    const sendRequest = await send()
    const made = await sendRequest('POST', 'webhooks', { url, types: ['patients.*'], description: 'for the app' })
    t.equal(made.status, 201)
    const { secret, ...webhook } = made.data
    t.match(secret, /^whsec_/)
    t.equal(made.headers.location, `/v1/webhooks/${webhook.id}`)
    t.match(webhook, { url, types: ['patients.*'], description: 'for the app', enabled: true, mode: 'test' })
    t.strictSame((await sendRequest('GET', `webhooks/${webhook.id}`)).data, webhook)
    t.strictSame((await sendRequest('GET', 'webhooks')).data, { data: [webhook], total: 1, hasMore: false })
    const changed = await sendRequest('PATCH', `webhooks/${webhook.id}`, { enabled: false, description: '', types: ['*'] })
    const { description: _, ...rest } = webhook
    t.strictSame(changed.data, { ...rest, enabled: false, types: ['*'] })
    const rolled = await sendRequest('POST', `webhooks/${webhook.id}/roll`, {})
    t.equal(rolled.status, 201)
    t.not(rolled.data.secret, secret)
    t.ok(Date.parse(rolled.data.previousSecretUntil) > Date.now() + 23 * 3_600_000)
    t.strictSame((await sendRequest('DELETE', `webhooks/${webhook.id}`)).data, { id: webhook.id, deleted: true })
    t.equal((await sendRequest('GET', `webhooks/${webhook.id}`)).status, 404)
  })

  await t.test('a test event is sent soon, and the list of deliveries has its result', async t => {
    const sendRequest = await send()
    const { id } = (await sendRequest('POST', 'webhooks', { url: closedUrl })).data
    const tested = await sendRequest('POST', `webhooks/${id}/test`, {})
    t.equal(tested.status, 202)
    await waitUntil(async () => (await sendRequest('GET', `webhooks/${id}/deliveries`)).data.data.length === 1)
    const { data } = await sendRequest('GET', `webhooks/${id}/deliveries`)
    t.match(data, {
      data: [{
        eventId: tested.data.eventId, eventType: 'webhook.test', outcome: 'failed', error: 'the receiver refused the connection'
      }],
      hasMore: false
    })
    t.match((await sendRequest('POST', `webhooks/${id}/resend`, { since: '2030-01-01T00:00:00Z' })), { status: 202, data: { events: 0 } })
  })

  await t.test('an invalid request is rejected, and no value is repeated', async t => {
    const sendRequest = await send()
    const { id } = (await sendRequest('POST', 'webhooks', { url })).data
    const misspelt = await sendRequest('POST', 'webhooks', { url, types: ['*', 'patient.created'] })
    t.equal(misspelt.status, 422)
    t.match(misspelt.text, 'types[1]: no such type of events; did you mean patients.created?')
    const invalid: Array<[method: string, path: string, body: unknown, status: number]> = [
      ['POST', 'webhooks', {}, 422],
      ['POST', 'webhooks', [], 422],
      ['POST', 'webhooks', { url: 'http://sneaky.example.org/' }, 422],
      ['POST', 'webhooks', { url: 'https://user:sneaky@example.org/' }, 422],
      ['POST', 'webhooks', { url: 'sneaky value' }, 422],
      ['POST', 'webhooks', { url, types: [] }, 422],
      ['POST', 'webhooks', { url, types: ['sneaky'] }, 422],
      ['POST', 'webhooks', { url, types: ['patients.sneaky'] }, 422],
      ['POST', 'webhooks', { url, types: ['patients.created,labs.created'] }, 422],
      ['POST', 'webhooks', { url, secret: 'whsec_sneaky' }, 422],
      ['POST', 'webhooks', { url, enabled: 'sneaky' }, 422],
      ['POST', 'webhooks?x=sneaky', { url }, 400],
      ['PATCH', `webhooks/${id}`, {}, 422],
      ['PATCH', `webhooks/${id}`, { tenantId: 'sneaky' }, 422],
      ['PATCH', `webhooks/${id}`, { url: null }, 422],
      ['POST', `webhooks/${id}/roll`, { secret: 'sneaky' }, 422],
      ['POST', `webhooks/${id}/test`, { type: 'sneaky' }, 422],
      ['POST', `webhooks/${id}/resend`, { since: 'sneaky' }, 422],
      ['POST', `webhooks/${id}/resend`, {}, 422],
      ['GET', `webhooks/${id}/deliveries?count=sneaky`, undefined, 400],
      ['GET', `webhooks/${id}/deliveries?cursor=sneaky`, undefined, 400],
      ['GET', `webhooks/${id}/deliveries?sneaky=1`, undefined, 400],
      ['PUT', `webhooks/${id}`, { url }, 405]
    ]
    for (const [method, path, body, status] of invalid) {
      const response = await sendRequest(method, path, body)
      t.equal(response.status, status, `${method} ${path} ${JSON.stringify(body)}`)
      t.notMatch(response.text, /sneaky(?!: no such|"\])/, `${method} ${path} ${JSON.stringify(body)}`)
    }
  })

  // It was created, and each of its deliveries was refused.
  await t.test('a webhook with an address that no delivery reaches is refused, with the setting that allows it', async t => {
    const sendRequest = await send()
    const { id } = (await sendRequest('POST', 'webhooks', { url })).data
    const hosts = [
      '10.0.0.1', '169.254.169.254', '192.168.1.1', '127.0.0.2', '0.0.0.0', '100.64.0.1', '[::1]', '[::]', '[fe80::1]',
      '[fd00::1]', '[::ffff:10.0.0.1]', '[::ffff:7f00:2]', '[64:ff9b::10.0.0.1]', '167772161', '0xa000001', '012.0.0.1',
      '0x0a.1', '10.0.0.1.'
    ]
    for (const host of hosts) {
      for (const [method, path] of [['POST', 'webhooks'], ['PATCH', `webhooks/${id}`]] as const) {
        const response = await sendRequest(method, path, { url: `https://${host}/` })
        t.match(response, { status: 422, text: /url: expected a public address.*webhooks\.privateNetworks/ }, `${method} ${host}`)
      }
    }
    for (const host of ['127.0.0.1', '2130706433', '[::ffff:127.0.0.1]', 'localhost', '93.184.216.34', '[2600::1]']) {
      t.equal((await sendRequest('POST', 'webhooks', { url: `https://${host}/` })).status, 201, `${host} is public or listed`)
    }
  })

  await t.test('only a key with the scope webhooks, or with all, manages webhooks', async t => {
    for (const [scopes, status] of [[['read', 'write'], 403], [['webhooks'], 200], [['*'], 200]] as const) {
      const { secret } = await gateway.createKey({ scopes })
      const getStatus = async (path: string) =>
        (await gateway.inject({ url: `/v1/${path}`, headers: { 'x-api-key': secret } })).statusCode
      t.equal(await getStatus('webhooks'), status, scopes.join())
      t.equal(await getStatus(`webhooks/whk_${'a'.repeat(26)}`), status === 200 ? 404 : 403)
      t.equal(await getStatus('patients'), scopes.includes('webhooks' as never) ? 403 : 200, 'and that scope reads no record')
    }
  })

  await t.test('no secret of a webhook is in the log', async t => {
    const sendRequest = await send()
    const { secret, id } = (await sendRequest('POST', 'webhooks', { url: `${url}?token=hidden-token` })).data
    await sendRequest('POST', `webhooks/${id}/roll`, {})
    const lines = gateway.readNewLines().join('\n')
    t.match(lines, '/v1/webhooks')
    t.notMatch(lines, /whsec_|hidden-token/)
    t.notOk(lines.includes(secret.slice(6)))
  })
})

t.test('each change that a client made is sent to the webhooks of its organization and mode alone', async t => {
  const gateway = await startGateway(t, { plans: unlimitedPlans, config: { webhooks, events: { enabled: true } } })
  const [client, other] = [await createGatewayClient(gateway), await createGatewayClient(gateway)]
  // A failure is an attempt too.
  const draft = { url: closedUrl, types: ['patients.*'] }
  const { id } = (await client.send('POST', 'webhooks', draft)).data
  const { id: foreign } = (await other.send('POST', 'webhooks', draft)).data
  const created = await client.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })
  t.equal(created.status, 201, created.text)
  const { data: patient } = created
  await client.send('PATCH', `patients/${patient.id}`, { lastName: 'Lovelace' })
  await client.send('DELETE', `patients/${patient.id}`)
  const fetchDeliveries = async () => (await client.send('GET', `webhooks/${id}/deliveries`)).data.data as Array<{
    eventId: string, eventType: string
  }>
  await waitUntil(async () => new Set((await fetchDeliveries()).map(({ eventId }) => eventId)).size === 3)
  t.strictSame(
    [...new Set((await fetchDeliveries()).map(({ eventType }) => eventType))].sort(),
    ['patients.created', 'patients.deleted', 'patients.updated']
  )
  t.strictSame((await other.send('GET', `webhooks/${foreign}/deliveries`)).data, { data: [], hasMore: false })
})

t.test('without private networks, names of this machine are refused for webhooks, in the API and the dashboard, and for subscriptions', async t => {
  const gateway = await startGateway(t, { plans: unlimitedPlans, config: { events: { enabled: true } } })
  const { send, tenantId } = await createGatewayClient(gateway)
  const owner = { tenantId, mode: 'test', by: 'test' } as const
  for (const host of ['localhost', 'LocalHost.', 'hooks.localhost', '127.1']) {
    t.equal((await send('POST', 'webhooks', { url: `https://${host}/` })).status, 422, host)
    const draft = { type: 'Patient', status: 'requested', endpoint: `https://${host}/`, headers: [] } as never
    await t.rejects(gateway.control.subscriptions.create(draft, owner), { message: /^channel\.endpoint: expected a public address/ })
    const service = new ControlService(gateway.control, { role: 'operator', name: 'test' })
    await t.rejects(service.createWebhook({ ...owner, url: `https://${host}/` }), { message: /^url: expected a public address/ })
  }
  t.equal((await send('POST', 'webhooks', { url: 'https://localhost.example.org/' })).status, 201)
})
