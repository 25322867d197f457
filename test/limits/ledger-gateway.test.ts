import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { readLedgerLines } from '../../src/limits/usage-ledger/file.js'
import { startGateway, type GatewaySettings } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'

/** A gateway whose ledger the test can read. */
async function startWithLedger (t: Test, settings: GatewaySettings = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-counted-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const gateway = await startGateway(t, {
    ...settings,
    environment: { ...settings.environment, CLINIGATE_DATA: directory }
  })
  const file = join(directory, 'usage.db')
  const countTotal = () => readLedgerLines(file).reduce((sum, { count }) => sum + count, 0)
  /** The lines of the ledger once it holds so many requests, as texts. */
  const describeLedger = async (requests: number) => {
    await waitUntil(() => countTotal() >= requests)
    return readLedgerLines(file)
      .flatMap(({ count, resource, interaction, outcome, isCounted }) =>
        Array<string>(count).fill(`${resource} ${interaction} ${outcome}${isCounted ? '' : ', not counted'}`)
      )
      .sort()
  }
  return { ...gateway, directory, file, describeLedger }
}

const fhir = { 'content-type': 'application/fhir+json' }

t.test('every kind of request is counted once, under our own names', async t => {
  const { inject, createKey, describeLedger } = await startWithLedger(t)
  const { secret } = await createKey()
  const expected: string[] = []
  const call = async (words: string, request: string, payload?: object, more: Record<string, string> = {}) => {
    expected.push(words)
    const [method, url] = request.split(' ') as ['GET', string]
    const headers = {
      'x-api-key': secret,
      ...(payload !== undefined && { 'content-type': 'application/json' }),
      ...more
    }
    const response = await inject({ method, url: `/v1${url}`, headers, payload })
    t.equal(response.statusCode < 400, words.endsWith(' ok'), `${words}: ${response.statusCode}`)
    return response
  }
  const {
    data: { id }
  } = (await call('patients create ok', 'POST /patients', { firstName: 'A', lastName: 'B' })).json()
  await call('patients search ok', 'GET /patients?lastName=B')
  await call('patients search ok', 'HEAD /patients')
  await call('patients read ok', `GET /patients/${id}`)
  await call('patients read ok', `HEAD /patients/${id}`)
  await call('patients update ok', `PATCH /patients/${id}`, { firstName: 'C' })
  await call('patients read error', 'GET /patients/none')
  await call('patients create error', 'POST /patients', { unknown: 1 })
  await call('patients search error', 'GET /patients?unknown=1')
  await call('other other error', 'PUT /patients', {})
  await call('other other error', 'GET /nothing')
  const made = await call('Patient create ok', 'POST /fhir/Patient', { resourceType: 'Patient' }, fhir)
  const record = made.json().id
  await call('Patient read ok', `GET /fhir/Patient/${record}`)
  await call('Patient read ok', `GET /fhir/Patient/${record}/_history/1`)
  await call('Patient history ok', `GET /fhir/Patient/${record}/_history`)
  await call('Patient search ok', 'GET /fhir/Patient?name=B')
  await call('Patient search ok', 'POST /fhir/Patient/_search', undefined, {
    'content-type': 'application/x-www-form-urlencoded'
  })
  await call('Observation search ok', `GET /fhir/Patient/${record}/Observation`)
  await call('Patient update ok', `PUT /fhir/Patient/${record}`, { resourceType: 'Patient', id: record }, fhir)
  await call('Patient patch ok', `PATCH /fhir/Patient/${record}`, [{ op: 'add', path: '/active', value: true }], {
    'content-type': 'application/json-patch+json'
  })
  await call(
    'Bundle batch ok',
    'POST /fhir',
    { resourceType: 'Bundle', type: 'batch', entry: [{ request: { method: 'GET', url: 'Patient' } }] },
    fhir
  )
  await call('Bundle transaction ok', 'POST /fhir', { resourceType: 'Bundle', type: 'transaction', entry: [] }, fhir)
  await call('Patient read error', 'GET /fhir/Patient/none')
  await call('Patient other error', 'GET /fhir/Patient?unknown=1')
  await call('other other error', 'GET /fhir/S3cret?name=s3cret')
  await call('other other error', 'POST /fhir', { resourceType: 'Bundle', type: 's3cret' }, fhir)
  await call('Patient delete ok', `DELETE /fhir/Patient/${record}`)
  await call('patients delete ok', `DELETE /patients/${id}`)
  t.strictSame(await describeLedger(expected.length), expected.sort())
})

t.test(
  'requests rejected by scope or limit, or failed by the datastore, are counted as such, and those without a caller are not',
  async t => {
    const { inject, createKey, describeLedger } = await startWithLedger(t, {
      fhirUrl: 'http://127.0.0.1:1/fhir',
      plans: { pro: { requestsPerMinute: 4, requestsPerMonth: null, overage: true } }
    })
    const { secret } = await createKey({ scopes: ['read'] })
    const get = (key?: string) =>
      inject({ url: '/v1/patients', headers: key === undefined ? {} : { 'x-api-key': key } })
    const post = (url: string) =>
      inject({ method: 'POST', url, headers: { 'x-api-key': secret, ...fhir }, payload: { resourceType: 'Patient' } })
    t.equal((await post('/v1/patients')).statusCode, 403)
    t.equal((await post('/v1/fhir/Patient')).statusCode, 403)
    t.ok((await get(secret)).statusCode >= 500)
    t.equal((await get()).statusCode, 401)
    t.equal((await get(`${secret}x`)).statusCode, 401)
    await get(secret)
    t.equal((await get(secret)).statusCode, 429)
    t.strictSame(await describeLedger(5), [
      'Patient create refused',
      'patients create refused',
      'patients search failed, not counted',
      'patients search failed, not counted',
      'patients search refused, not counted'
    ])
  }
)

t.test('a request whose client does not wait for the response is counted once, with its outcome', async t => {
  let arrive = () => {}
  const arrived = new Promise<void>(resolve => { arrive = resolve })
  const leaving = new AbortController()
  const responding = once(leaving.signal, 'abort').then(() => pause(50))
  const datastore = createServer(async ({ url }, response) => {
    if (!url!.endsWith('-probe')) {
      arrive()
      await responding
    }
    response.writeHead(500).end()
  }).listen(0, '127.0.0.1')
  t.teardown(() => datastore.close())
  await once(datastore, 'listening')
  const { url, createKey, describeLedger } = await startWithLedger(t, {
    fhirUrl: `http://127.0.0.1:${(datastore.address() as AddressInfo).port}/fhir`
  })
  const { secret } = await createKey()
  const left = fetch(`${url}/v1/patients`, { headers: { 'x-api-key': secret }, signal: leaving.signal }).then(
    () => false,
    () => true
  )
  await arrived
  leaving.abort()
  t.ok(await left)
  t.strictSame(await describeLedger(1), ['patients search failed, not counted'])
})

t.test('the control plane has the usage and the last use of each key within seconds', async t => {
  const { inject, createKey, control } = await startWithLedger(t, {
    now: () => new Date(Date.parse('2030-03-04T05:06:07.008Z'))
  })
  const { secret, tenantId, keyId } = await createKey({ mode: 'live' })
  const unused = await createKey({ tenantId })
  for (const url of ['/v1/patients', '/v1/labs', '/v1/labs/none']) {
    await inject({ url, headers: { 'x-api-key': secret } })
  }
  const day = {
    tenantId,
    from: new Date('2030-03-04T00:00:00Z'),
    to: new Date('2030-03-05T00:00:00Z'),
    by: 'day' as const
  }
  while ((await control.usage.sumUsage(day)).totals[0]!.requests < 3) await pause(50)
  t.match((await control.usage.sumUsage(day)).totals, [
    { from: '2030-03-04T00:00:00Z', requests: 3, ok: 2, errors: 1, refused: 0, failed: 0, counted: 3, overage: 0 }
  ])
  t.equal((await control.usage.sumUsage({ ...day, mode: 'test' })).totals[0]!.requests, 0)
  t.equal((await control.keys.find(keyId)).lastUsedAt, '2030-03-04T05:06:07.008Z')
  t.equal((await control.keys.find(unused.keyId)).lastUsedAt, undefined)
})

t.test('nothing of a URL, an id or a body is in the ledger', async t => {
  const { inject, createKey, describeLedger, directory, close } = await startWithLedger(t)
  const { secret } = await createKey()
  const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
  const {
    data: { id }
  } = (
    await inject({
      method: 'POST',
      url: '/v1/patients',
      headers,
      payload: { firstName: 'S3cret', lastName: 'S3cret', birthDate: '1931-07-19' }
    })
  ).json()
  const urls = [
    `/v1/patients/${id}`,
    '/v1/patients/s3cret',
    '/v1/patients?lastName=s3cret',
    '/v1/s3cret',
    '/v1/s3cret/s3cret',
    '/v1/fhir/s3cret',
    '/v1/fhir/Patient/s3cret',
    '/v1/fhir/Patient?name=s3cret',
    '/v1/fhir/Patient/s3cret/$s3cret',
    '/v1/%73%33cret'
  ]
  for (const url of urls) await inject({ url, headers })
  await describeLedger(1 + urls.length)
  await close()
  const written = readdirSync(directory)
    .filter(name => name.startsWith('usage.db'))
    .map(name => readFileSync(join(directory, name)).toString('latin1'))
    .join('')
  const lines = JSON.stringify(readLedgerLines(join(directory, 'usage.db')))
  t.match(lines, 'patients')
  for (const hidden of [id, 's3cret', 'S3cret', '1931-07', secret]) {
    t.notOk(written.includes(hidden) || lines.includes(hidden))
  }
})

t.test("a ledger that can't be written stops no request, and is reported by the health", async t => {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-counted-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  mkdirSync(join(directory, 'usage.db'))
  let now = Date.parse('2030-01-01T00:00:00Z')
  const { inject, createKey } = await startGateway(t, {
    environment: { CLINIGATE_DATA: directory },
    now: () => new Date(now)
  })
  const { secret } = await createKey()
  const response = await inject({ url: '/v1/patients', headers: { 'x-api-key': secret } })
  t.equal(response.statusCode, 200)
  t.match((await inject('/health')).json(), {
    data: { status: 'degraded', checks: { usage: { status: 'degraded', linesInMemory: 1 } } }
  })
  rmdirSync(join(directory, 'usage.db'))
  while ((now += 6_000) && (await inject('/health')).json().data.checks.usage.status !== 'ok') await pause(50)
  t.equal(readLedgerLines(join(directory, 'usage.db'))[0]!.count, 1)
})
