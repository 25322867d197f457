import { randomUUID } from 'node:crypto'
import fastify from 'fastify'
import { test, type Test } from 'tap'
import { measureRequests } from '../../src/http/measure-requests.js'
import type { Caller } from '../../src/keys/caller.js'
import { declarations } from '../../src/observability/metrics/declarations.js'
import { createPrometheusMetrics } from '../../src/observability/metrics/prometheus.js'
import { sendJson, startFaultyServer } from '../backends/faulty-server.js'
import { createImporter } from '../jobs/importing.js'
import { createGatewayClient } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'
import { readScrape, startMeasured } from './scrape.js'

const ada = { firstName: 'Ada', lastName: 'Byron' }

test('requests are counted by the pattern of their route, the class of their status and the mode of the key', async t => {
  const gateway = await startMeasured(t)
  const client = await createGatewayClient(gateway)
  const {
    data: { id }
  } = await client.send('POST', 'patients', ada)
  for (let i = 0; i < 3; i++) await client.send('GET', `patients/${id}`)
  await client.send('GET', `fhir/Patient/${id}`)
  await client.send('GET', 'patients/nobody')
  const { value } = await gateway.scrape()
  t.equal(
    value('clinigate_http_requests_total', { method: 'GET', route: '/v1/patients/:id', status: '2xx', mode: 'test' }),
    3
  )
  t.equal(
    value('clinigate_http_requests_total', { method: 'GET', route: '/v1/patients/:id', status: '4xx', mode: 'test' }),
    1
  )
  t.equal(value('clinigate_http_requests_total', { method: 'POST', route: '/v1/patients', status: '2xx' }), 1)
  t.equal(value('clinigate_http_requests_total', { route: '/v1/fhir/*', interaction: 'read' }), 1)
  t.equal(value('clinigate_http_request_duration_seconds_count', { route: '/v1/patients/:id' }), 4)
})

test('the time of the datastore is measured separately from the time of the gateway', async t => {
  const gateway = await startMeasured(t)
  const client = await createGatewayClient(gateway)
  await client.send('POST', 'patients', ada)
  const { value } = await gateway.scrape()
  const all = value('clinigate_http_request_duration_seconds_sum', { route: '/v1/patients', method: 'POST' })
  const own = value('clinigate_gateway_duration_seconds_sum', { datastore: 'test' })
  const stored = value('clinigate_datastore_request_duration_seconds_sum', { datastore: 'test', mode: 'sent' })
  t.equal(value('clinigate_gateway_duration_seconds_count', { datastore: 'test' }), 1)
  t.ok(own > 0 && own < all)
  t.ok(stored > 0 && own + stored <= all * 1.001, `${own} and ${stored} of ${all}`)
  t.equal(
    value('clinigate_datastore_requests_total', { datastore: 'test', mode: 'sent', method: 'POST', outcome: 'ok' }),
    1
  )
})

test("a datastore that fails has its own outcome, and one that returns another tenant's data is an incident", async t => {
  const faulty = await startFaultyServer()
  t.after(() => faulty.close())
  faulty.answerProbes()
  const gateway = await startMeasured(t, { fhirUrl: faulty.url })
  const client = await createGatewayClient(gateway)
  faulty.behave(sendJson(500, {}))
  await client.send('POST', 'patients', ada)
  faulty.behave(
    sendJson(200, {
      resourceType: 'Bundle',
      type: 'searchset',
      entry: [{ resource: { resourceType: 'Patient', id: '1', meta: { versionId: '1' } }, search: { mode: 'match' } }]
    })
  )
  await client.send('GET', 'patients')
  const { value } = await gateway.scrape()
  t.equal(value('clinigate_datastore_requests_total', { method: 'POST', outcome: 'error' }), 1)
  t.equal(value('clinigate_isolation_incidents_total', { kind: 'foreign-match', datastore: 'test' }), 1)
})

test('a rejection is counted by its reason', async t => {
  const gateway = await startMeasured(t, {
    plans: {
      pro: { requestsPerMinute: 2, requestsPerMonth: 1_000, overage: false },
      starter: { requestsPerMinute: null, requestsPerMonth: 1, overage: false }
    }
  })
  const minute = await createGatewayClient(gateway)
  for (let i = 0; i < 3; i++) await minute.send('GET', 'patients')
  const month = await createGatewayClient(gateway, { plan: 'starter' })
  for (let i = 0; i < 2; i++) await month.send('GET', 'patients')
  await gateway.inject({ url: '/v1/patients' })
  const { secret } = await gateway.createKey({ scopes: ['read'] })
  await gateway.inject({ method: 'POST', url: '/v1/patients', headers: { 'x-api-key': secret }, payload: ada })
  const { value } = await gateway.scrape()
  const reasons = Object.fromEntries(
    ['minute', 'month', 'key', 'scope', 'in_flight', 'attempts'].map(reason => [
      reason,
      value('clinigate_refusals_total', { reason })
    ])
  )
  t.same(reasons, { minute: 1, month: 1, key: 1, scope: 1, in_flight: 0, attempts: 0 })
})

test('caches, the copy of the keys, the ledger and the checks of /health can be read', async t => {
  const gateway = await startMeasured(t)
  const client = await createGatewayClient(gateway)
  const { data: { id } } = await client.send('POST', 'patients', ada)
  await client.send('PATCH', `patients/${id}`, { email: 'ada@example.org' })
  // A check that took longer than a second, on a machine that stood still, is repeated after a while.
  let scraped = await gateway.scrape()
  await waitUntil(
    async () => (scraped = await gateway.scrape()).value('clinigate_check_ok', { check: 'testDatastore' }) === 1
  )
  const { value, text } = scraped
  t.equal(value('clinigate_key_lookups_total', { result: 'miss' }), 1)
  t.equal(value('clinigate_key_lookups_total', { result: 'hit' }), 1)
  t.equal(value('clinigate_key_copy_connected'), 1)
  t.match(text, /^clinigate_key_copy_age_seconds \d/m)
  t.ok(value('clinigate_ownership_records') >= 1)
  t.equal(value('clinigate_ledger_failing'), 0)
  t.equal(value('clinigate_check_ok', { check: 'testDatastore' }), 1)
  t.equal(value('clinigate_build_info', { role: 'all', version: '0.0.0-test' }), 1)
  t.notMatch(text, /^clinigate_shared_counts_in_use/m, 'a gateway that stands alone has no shared counts')
  t.match(text, /^nodejs_eventloop_lag_p99_seconds \d/m)
})

test('bulk jobs are counted by their outcome, and their records', async t => {
  const gateway = await startMeasured(t)
  const { secret } = await gateway.createKey()
  const imports = createImporter(gateway, secret)
  await imports.run([{ id: 'a', ...ada }, { id: 'b', firstName: 5 }], '?resourceType=patients')
  await waitUntil(async () => (await gateway.scrape()).value('clinigate_bulk_jobs_ended_total') > 0)
  const { value } = await gateway.scrape()
  t.equal(value('clinigate_bulk_jobs_ended_total', { kind: 'import', outcome: 'completed' }), 1)
  t.equal(value('clinigate_bulk_records_total', { kind: 'import', result: 'processed' }), 2)
  t.equal(value('clinigate_bulk_records_total', { kind: 'import', result: 'failed' }), 1)
})

test('neither organizations nor keys nor ids nor URLs become series', async t => {
  const gateway = await startMeasured(t)
  const known: string[] = []
  const visit = async () => {
    const { tenantId, keyId, secret } = await gateway.createKey()
    const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
    const id = (await gateway.inject({ method: 'POST', url: '/v1/patients', headers, payload: ada })).json().data.id
    const random = randomUUID()
    for (const url of [
      `/v1/patients/${id}`,
      `/v1/patients/${random}`,
      `/v1/patients?lastName=${random}`,
      `/v1/${random}`,
      `/${random}`,
      `/v1/fhir/Patient/${id}`,
      `/v1/fhir/${random}/${id}`
    ]) { await gateway.inject({ url, headers }) }
    known.push(tenantId, keyId, id, random)
  }
  for (let i = 0; i < 3; i++) await visit()
  const before = await gateway.scrape()
  for (let i = 0; i < 15; i++) await visit()
  const after = await gateway.scrape()
  t.equal(after.series, before.series)
  t.same(known.filter(word => after.text.includes(word)), [])
})

test('ten thousand organizations and as many URLs and methods of the protocol add no series', async t => {
  const metrics = createPrometheusMetrics({ version: '0', role: 'all' })
  const app = fastify()
  t.after(() => app.close())
  await app.register(measureRequests, { onCompleted: metrics.recordRequest })
  app.decorateRequest('caller')
  app.addHook('onRequest', async request => {
    request.caller = { tenantId: randomUUID(), keyId: randomUUID(), mode: 'live' } as Caller
  })
  app.get('/v1/patients/:id', async () => ({}))
  const visit = async () => {
    await app.inject({ url: `/v1/patients/${randomUUID()}?q=${randomUUID()}` })
  }
  const visitUnknown = async () => {
    await app.inject({ url: `/${randomUUID()}`, method: 'PROPFIND' as 'GET' })
  }
  await visit()
  await visitUnknown()
  const countSeries = async () =>
    (await metrics.text()).split('\n').filter(line => line.startsWith('clinigate_http')).length
  const before = await countSeries()
  for (let i = 0; i < 10_000; i++) await visit()
  for (let i = 0; i < 100; i++) await visitUnknown()
  t.equal(await countSeries(), before)
})

test('buckets are cumulative, a time equal to a bound is within it, and sum and count are those of the reported times', async t => {
  const metrics = createPrometheusMetrics({ version: '0', role: 'all' })
  const labels = { datastore: 'a "b" \\ c', mode: 'sent' } as const
  for (const ms of [0, 1, 1.1, 60_000, 60_001]) metrics.exchanged({ ...labels, method: 'GET', outcome: 'ok', ms })
  const text = await metrics.text()
  const series = '{le="$",datastore="a \\"b\\" \\\\ c",mode="sent"}'
  const readBucket = (le: string) =>
    Number(
      text.split(`clinigate_datastore_request_duration_seconds_bucket${series.replace('$', le)} `)[1]?.split('\n')[0]
    )
  t.same(['0.001', '0.0025', '10', '60', '+Inf'].map(readBucket), [2, 3, 3, 4, 5])
  const { value } = readScrape(text)
  t.equal(value('clinigate_datastore_request_duration_seconds_count'), 5)
  t.ok(Math.abs(value('clinigate_datastore_request_duration_seconds_sum') - 120.0031) < 1e-9)
  t.equal(value('clinigate_datastore_requests_total', { method: 'GET', outcome: 'ok' }), 5)
})

test('a metric is served once, with its help and type, whether it has series or not', async t => {
  const metrics = createPrometheusMetrics({ version: '0', role: 'all' })
  for (let i = 0; i < 2; i++) {
    const text = await metrics.text()
    for (const [name, { type }] of Object.entries(declarations)) {
      t.same(
        text.split('\n').filter(line => line.startsWith(`# TYPE ${name} `)),
        [`# TYPE ${name} ${type}`]
      )
    }
    t.match(text, /[^\n]\n$/)
    t.notMatch(text, /\n\n\n/)
    metrics.recordRequest({ method: 'GET', ms: 0 })
  }
})

test('the port of the metrics serves nothing else, no other port serves them, and it closes with the gateway', async t => {
  const gateway = await startMeasured(t)
  const { port } = new URL(gateway.metricsUrl)
  for (const [method, path] of [['GET', '/'], ['POST', '/metrics'], ['GET', '/v1/patients'], ['GET', '/health']]) {
    t.equal((await fetch(`http://127.0.0.1:${port}${path}`, { method: method! })).status, 404)
  }
  t.equal((await gateway.inject({ url: '/metrics' })).statusCode, 404, 'clients of the API do not reach them')
  await gateway.close()
  await t.rejects(fetch(gateway.metricsUrl), 'the port closes with the gateway')
})

test('a port that is in use stops the start and names the setting', async t => {
  const gateway = await startMeasured(t)
  const { port } = new URL(gateway.metricsUrl)
  await t.rejects(startGateway(t as Test, { config: { metrics: { port: Number(port) } } }), {
    message: /metrics\.port/
  })
})

test('without a port nothing is measured, and requests do not carry the data of measurements', async t => {
  t.notOk((await startGateway(t)).app.hasRequestDecorator('waiting'))
  t.ok((await startMeasured(t)).app.hasRequestDecorator('waiting'))
})
