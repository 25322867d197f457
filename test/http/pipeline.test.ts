import { once } from 'node:events'
import { connect } from 'node:net'
import { Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Failure } from '../../src/envelope/failures.js'
import { buildGateway, type GatewayOptions } from '../../src/app.js'
import { buildLogOptions } from '../../src/http/log.js'
import { Readiness } from '../../src/http/readiness.js'
import { offersAll } from '../../src/tenant-guard/capabilities.js'
import type { Caller } from '../../src/keys/caller.js'
import { MonthlyUsage } from '../../src/limits/usage-ledger/month-counts.js'
import { FairConcurrencyLimiter } from '../../src/limits/concurrency-limiter.js'
import { startGateway } from '../harness/gateway.js'
import { parseResponses } from '../harness/raw-http.js'
import { waitUntil } from '../harness/until.js'

t.test('an unknown path below /v1 is authenticated before it is not found', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  for (const url of [
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v1/patients/1/2',
    '/v1/Patients',
    '/v1/patients/',
    '/v1//patients',
    '/v1/patients;x=1'
  ]) {
    const unknown = await inject(url)
    t.match(unknown.json(), { data: null, code: 'UNAUTHORIZED', meta: { status: 401 } }, url)
    const known = await inject({ url, headers: { 'x-api-key': secret } })
    t.match(known.json(), { data: null, code: 'NOT_FOUND', meta: { status: 404 } }, url)
  }
  t.match((await inject('/nothing')).json(), {
    data: null,
    code: 'NOT_FOUND',
    meta: { status: 404, rateLimitTotal: null }
  })
})

t.test('a method that a path does not have is 405 with those that it has', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const sendRequest = (method: string, url: string) =>
    inject({
      method: method as 'GET',
      url,
      headers: { 'x-api-key': secret, 'content-type': 'text/xml' },
      payload: '<x/>'
    })
  const cases: Array<[string, string, string]> = [
    ['PUT', '/v1/patients', 'GET, HEAD, POST'],
    ['DELETE', '/v1/patients?x=1', 'GET, HEAD, POST'],
    ['OPTIONS', '/v1/patients', 'GET, HEAD, POST'],
    ['TRACE', '/v1/patients', 'GET, HEAD, POST'],
    ['PROPFIND', '/v1/patients', 'GET, HEAD, POST'],
    ['PUT', '/v1/patients/1', 'DELETE, GET, HEAD, PATCH'],
    ['POST', '/v1/metadata', 'GET, HEAD']
  ]
  for (const [method, url, allow] of cases) {
    const response = await sendRequest(method, url)
    t.equal(response.statusCode, 405, `${method} ${url}`)
    t.equal(response.headers.allow, allow)
    t.equal(response.json().code, 'METHOD_NOT_ALLOWED')
  }
  t.equal((await sendRequest('PUT', '/v1/nothing')).statusCode, 404)
})

t.test('a key has the permissions of its scopes, on unknown paths too', async t => {
  const { inject, createKey } = await startGateway(t)
  const getStatus = async (scopes: ReadonlyArray<'read' | 'write' | '*'>, method: string, url: string) => {
    const { secret } = await createKey({ scopes })
    const response = await inject({
      method: method as 'GET',
      url,
      headers: { 'x-api-key': secret },
      ...(method === 'POST' ? { payload: { firstName: 'A', lastName: 'B' } } : {})
    })
    return response.statusCode
  }
  t.equal(await getStatus(['read'], 'GET', '/v1/patients'), 200)
  t.equal(await getStatus(['read'], 'HEAD', '/v1/patients'), 200)
  t.equal(await getStatus(['read'], 'POST', '/v1/patients'), 403)
  t.equal(await getStatus(['read'], 'DELETE', '/v1/patients/1'), 403)
  t.equal(await getStatus(['read'], 'PUT', '/v1/nothing'), 403)
  t.equal(await getStatus(['write'], 'GET', '/v1/patients'), 403)
  t.equal(await getStatus(['write'], 'POST', '/v1/patients'), 201)
  t.equal(await getStatus(['read', 'write'], 'POST', '/v1/patients'), 201)
  t.equal(await getStatus(['*'], 'GET', '/v1/patients'), 200)
})

t.test('a request that overrides its method is rejected, with a key and without', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  for (const name of ['X-HTTP-Method-Override', 'x-http-method', 'X-Method-Override']) {
    for (const headers of [{ [name]: 'DELETE' }, { [name]: '', 'x-api-key': secret }]) {
      for (const url of ['/v1/patients', '/health', '/nothing']) {
        const response = await inject({ method: 'POST', url, headers })
        t.match(
          response.json(),
          { data: null, code: 'METHOD_OVERRIDE_REJECTED', meta: { status: 400 } },
          `${name} ${url}`
        )
      }
    }
  }
})

t.test('no response allows another origin, and none that requires a key may be stored', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const origin = { origin: 'https://evil.example', 'access-control-request-method': 'GET' }
  const responses = [
    await inject({ url: '/v1/patients', headers: { ...origin, 'x-api-key': secret } }),
    await inject({ method: 'OPTIONS', url: '/v1/patients', headers: origin }),
    await inject({ method: 'OPTIONS', url: '/v1/patients', headers: { ...origin, 'x-api-key': secret } }),
    await inject({ url: '/v1/patients', headers: origin })
  ]
  t.strictSame(responses.map(({ statusCode }) => statusCode), [200, 405, 405, 401])
  for (const { headers } of [...responses, await inject('/health'), await inject('/v1/metadata')]) {
    t.strictSame(
      Object.keys(headers).filter(
        name => name.startsWith('access-control') || name === 'server' || name === 'x-powered-by'
      ),
      []
    )
    t.equal(headers['x-content-type-options'], 'nosniff')
  }
  for (const { headers } of responses) t.equal(headers['cache-control'], 'no-store')
})

t.test('a response is JSON, or the request is rejected with 406', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const getStatus = async (accept: string) =>
    (await inject({ url: '/v1/patients', headers: { 'x-api-key': secret, accept } })).statusCode
  for (const accept of [
    '*/*',
    'application/*',
    'application/json',
    'application/fhir+json',
    'text/html, application/json;q=0.1',
    'application/xml, */*;q=0.1',
    ''
  ]) {
    t.equal(await getStatus(accept), 200, accept)
  }
  for (const accept of ['text/html', 'application/xml', 'application/json;q=0', 'application/fhir+xml', 'nonsense']) {
    t.equal(await getStatus(accept), 406, accept)
  }
})

t.test('the metadata need no key, and are a bare resource for a client that prefers FHIR', async t => {
  const { inject } = await startGateway(t)
  const enveloped = await inject('/v1/metadata')
  t.match(enveloped.json(), {
    data: { resourceType: 'CapabilityStatement', fhirVersion: '4.0.1', rest: [{ mode: 'server' }] },
    meta: { status: 200, rateLimitTotal: null }
  })
  const bare = await inject({ url: '/v1/metadata', headers: { accept: 'application/fhir+json' } })
  t.equal(bare.headers['content-type'], 'application/fhir+json; charset=utf-8')
  t.strictSame(bare.json(), enveloped.json().data)
  t.strictSame((await inject('/v1/metadata?_format=json')).json(), bare.json())
  t.equal((await inject('/v1/metadata?_format=xml')).statusCode, 406)
  t.equal((await inject({ url: '/v1/metadata', headers: { accept: 'text/xml' } })).statusCode, 406)
})

t.test('the health has its status at the top as well', async t => {
  const { inject } = await startGateway(t)
  const body = (await inject('/health')).json()
  t.equal(body.status, body.data.status)
})

t.test('a failure has its request id at the top, and its message names the wrong field without its value', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const postPatient = async (payload: object) => {
    const headers = { 'x-api-key': secret }
    return (await inject({ method: 'POST', url: '/v1/patients', headers, payload })).json()
  }
  const one = await postPatient({ firstName: 'Ada', birthDate: 'secret' })
  t.equal(one.requestId, one.meta.requestId)
  t.equal(one.message, 'birthDate: expected a date such as 1990-03-14, 1990-03 or 1990.')
  const two = await postPatient({ firstName: 5, birthDate: 'secret' })
  t.match(two.message, /^\w+: .+\. The other faults are listed in issues\.$/)
  t.notMatch(two.message, /secret/)
})

t.test('Authorization: Bearer authenticates simple records, raw FHIR and jobs like x-api-key does, and not the dashboard', async t => {
  const { inject, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const { secret: other } = await createKey()
  const headers = { authorization: `Bearer ${secret}` }
  for (const url of ['/v1/patients', '/v1/fhir/Patient', '/v1/fhir/metadata', '/v1/bulk/jobs', '/v1/metadata']) {
    t.equal((await inject({ url, headers })).statusCode, 200, url)
    t.equal((await inject({ url, headers: { ...headers, 'x-api-key': secret } })).statusCode, 200, url)
  }
  for (const url of ['/v1/patients', '/v1/fhir/Patient', '/v1/bulk/jobs']) {
    t.equal((await inject({ url, headers: { ...headers, 'x-api-key': other } })).statusCode, 401, url)
    t.equal((await inject({ url, headers: { authorization: `Basic ${secret}` } })).statusCode, 401, url)
  }
  const created = await inject({ method: 'POST', url: '/v1/patients', headers, payload: { firstName: 'A', lastName: 'B' } })
  t.equal(created.statusCode, 201)
  const dashboard = await inject({ url: '/dashboard', headers })
  t.strictSame([dashboard.statusCode, dashboard.headers.location], await inject('/dashboard').then(
    ({ statusCode, headers }) => [statusCode, headers.location]
  ))
})

t.test('the log names the route and the key, and holds no secret, id, name or query', async t => {
  const { inject, createKey, logged } = await startGateway(t)
  const { secret, keyId, tenantId } = await createKey()
  const headers = { 'x-api-key': secret, authorization: 'Basic s3cret', cookie: 'a=s3cret', 'x-request-id': 'mine' }
  await inject({ url: '/v1/patients/s3cret-id?_x=s3cret', headers })
  await inject({ url: '/v1/patients?lastName=s3cret', headers })
  await inject({
    method: 'POST',
    url: '/v1/patients',
    headers,
    payload: { firstName: 's3cret', lastName: 's3cret', unknown: 's3cret' }
  })
  await inject({
    method: 'POST',
    url: '/v1/patients',
    headers: { ...headers, 'content-type': 'application/json' },
    payload: '{s3cret'
  })
  await inject({ url: '/v1/s3cret/%', headers })
  await inject({ url: '/v1/patients', headers: { 'x-api-key': `${secret}x` } })
  await inject({ url: '/v1/patients', headers: { ...headers, authorization: 'Bearer s3cret' } })
  await inject({ url: '/v1/patients', headers: { authorization: `Bearer ${secret}` } })
  await inject({ url: '/s3cret', headers })
  const lines = logged()
  t.notMatch(JSON.stringify(lines), 's3cret')
  t.notMatch(JSON.stringify(lines), secret)
  const responseLines = lines.filter(({ msg }) => msg === 'responded')
  t.match(responseLines[0], { requestId: 'mine', method: 'GET', route: '/v1/patients/:id', status: 400, keyId, tenantId })
  t.strictSame(Object.keys(responseLines[0]!).sort(), [
    'hostname',
    'keyId',
    'level',
    'method',
    'ms',
    'msg',
    'pid',
    'requestId',
    'route',
    'status',
    'tenantId',
    'time'
  ])
})

/** The pipeline around one route with the handler of the test. */
async function startGatewayAround (
  t: Test,
  handler: (request: FastifyRequest, reply: FastifyReply) => unknown,
  options: Partial<GatewayOptions> = {}
) {
  const caller: Caller = {
    keyId: 'k',
    keyName: 'k',
    tenantId: 't',
    plan: 'pro',
    overage: true,
    mode: 'test',
    scopes: ['*']
  }
  const app = await buildGateway({
    now: () => new Date(0),
    version: '1',
    checks: {},
    readiness: new Readiness(),
    overload: { eventLoopDelayMs: null, heapPercent: null, rssBytes: null },
    capabilityStatement: () => ({}),
    fhirStatement: () => ({}),
    offered: async () => offersAll,
    document: () => ({ openapi: '3.1.1' }),
    authenticate: async () => caller,
    failedAttemptsPerMinute: 300,
    plans: { pro: { requestsPerMinute: null, requestsPerMonth: null, overage: true } },
    countUsage: () => {},
    concurrency: new FairConcurrencyLimiter({ permits: 32 }),
    months: new MonthlyUsage({ ledger: { getMonthCount: () => ({ own: 0, others: 0 }) } }),
    bodyBytes: 1_024,
    fhir: async () => {},
    fhirOptions: async () => {},
    routes: [
      async scope => {
        scope.get('/probe', async (request, reply) => handler(request, reply))
      }
    ],
    ...options
  })
  t.after(() => app.close())
  return { app }
}

t.test('a route that logs its request shows neither its URL nor its key', async t => {
  const lines: string[] = []
  const sink = new Writable({ write (chunk, _, done) { lines.push(String(chunk)); done() } })
  const { app } = await startGatewayAround(t, (request, reply) => {
    request.log.info({ req: request, res: reply, headers: request.headers, err: new SyntaxError('s3cret') }, 'seen')
    return 1
  }, { logger: pino(buildLogOptions('info'), sink) })
  await app.inject({
    url: '/v1/probe?name=s3cret',
    headers: { 'x-api-key': 's3cret', cookie: 's3cret', authorization: 's3cret' }
  })
  t.match(lines.join(''), '"msg":"seen"')
  t.notMatch(lines.join(''), 's3cret')
})

t.test('any error in a route is reported in the envelope', async t => {
  for (const thrown of [new Error('s3cret'), new Failure('BACKEND_TIMEOUT', { cause: new Error('s3cret') })]) {
    const { app } = await startGatewayAround(t, () => { throw thrown })
    const response = await app.inject('/v1/probe')
    t.equal(response.statusCode, thrown instanceof Failure ? 504 : 500)
    t.notMatch(response.body, 's3cret')
    t.match(response.json(), { data: null, meta: { status: response.statusCode } })
  }
})

t.test('a request on a busy connection while the gateway closes gets its response too', async t => {
  let release = () => {}
  const requested: string[] = []
  const { app } = await startGatewayAround(t, () => 1, {
    fhir: async () => {},
    fhirOptions: async () => {},
    routes: [async scope => {
      scope.get('/slow', async () => new Promise(resolve => {
        requested.push('slow')
        release = () => resolve({ slow: true })
      }))
      scope.get('/fast', async () => {
        requested.push('fast')
        return { fast: true }
      })
    }]
  })
  const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const socket = connect(Number(url.port), url.hostname)
  let text = ''
  socket.on('data', chunk => { text += chunk })
  const sendGet = (path: string) => socket.write(`GET ${path} HTTP/1.1\r\nhost: h\r\n\r\n`)
  sendGet('/v1/slow')
  while (!requested.includes('slow')) await pause(5)
  const closed = app.close()
  await pause(50)
  sendGet('/v1/fast')
  while (!requested.includes('fast')) await pause(5)
  release()
  await Promise.all([closed, once(socket, 'close')])
  t.match(parseResponses(text), [
    { status: 200, body: { data: { slow: true } } },
    { status: 200, headers: { connection: 'close' }, body: { data: { fast: true } } }
  ])
})

t.test(
  '/health/ready is 503 while any check fails, and from the moment at which the process is to end',
  async t => {
    let isBlocked = false
    const readiness = new Readiness()
    readiness.addBlocker(() => false)
    readiness.addBlocker(() => isBlocked)
    const { app } = await startGatewayAround(t, () => 1, { readiness })
    const getReadyStatus = async () => {
      const response = await app.inject('/health/ready')
      t.equal(response.headers['cache-control'], 'no-store')
      return response.statusCode
    }
    t.equal(await getReadyStatus(), 200)
    isBlocked = true
    t.equal(await getReadyStatus(), 503)
    isBlocked = false
    t.equal(await getReadyStatus(), 200)
    readiness.beginShutdown()
    t.equal(await getReadyStatus(), 503)
    t.equal((await app.inject('/v1/probe')).statusCode, 200)
  }
)

t.test('/health is 200 as long as the process responds, and degraded with any of its checks', async t => {
  let time = 0
  let request = 0
  const checks = {
    good: () => ({ status: 'ok' as const, ageSeconds: 3 }),
    bad: async () => { request++; return { status: 'degraded' as const } },
    broken: async () => { throw new Error('s3cret') },
    slow: () => new Promise<never>(() => {})
  }
  const { app } = await startGatewayAround(t, () => 1, { checks, now: () => new Date(time), version: '1.2.3' })
  time = 90_000
  // It responds although the slow check never does.
  const response = await app.inject('/health')
  t.equal(response.statusCode, 200)
  t.match(response.json().data, {
    status: 'degraded',
    version: '1.2.3',
    uptimeSeconds: 90,
    checks: {
      good: { status: 'ok', ageSeconds: 3 },
      bad: { status: 'degraded' },
      broken: { status: 'degraded' },
      slow: { status: 'degraded' }
    }
  })
  t.notMatch(response.body, 's3cret')
  await app.inject('/health')
  t.equal(request, 1, 'a result serves for a while')
  time += 6_000
  await app.inject('/health')
  t.equal(request, 2, 'and not for ever')
  const { app: healthy } = await startGatewayAround(t, () => 1, { checks: { good: checks.good } })
  t.equal((await healthy.inject('/health')).json().data.status, 'ok')
})

t.test(
  'the whole service is healthy on its sandboxes, and starts, reports it and responds while a datastore is down',
  async t => {
    const { inject } = await startGateway(t)
    // On a busy machine the response may take longer than a second, so the check is repeated.
    const waitUntilTestIsOk = async (injectRequest: typeof inject) =>
      await waitUntil(async () => (await injectRequest('/health')).json().data.checks.testDatastore.status === 'ok')
    await waitUntilTestIsOk(inject)
    t.match((await inject('/health')).json().data, {
      status: 'ok',
      checks: { keys: { status: 'ok' }, testDatastore: { status: 'ok' }, liveDatastore: { status: 'ok' } }
    })
    const down = await startGateway(t, { fhirUrl: 'http://127.0.0.1:9/fhir' })
    const health = await down.inject('/health')
    const withDedicated = await startGateway(t, {
      config: {
        datastores: { hospital: { url: 'http://127.0.0.1:9' } },
        routing: { dedicated: { 'org-1': 'hospital' } }
      }
    })
    await waitUntilTestIsOk(withDedicated.inject)
    const dedicatedHealth = await withDedicated.inject('/health')
    t.match(dedicatedHealth.json().data, {
      status: 'degraded',
      checks: { testDatastore: { status: 'ok' }, dedicatedDatastores: { status: 'degraded' } }
    })
    t.notMatch(dedicatedHealth.body, /hospital|org-1/, "whose datastores there are is nobody's business")
    t.equal(health.statusCode, 200)
    t.match(health.json().data, {
      status: 'degraded',
      checks: { keys: { status: 'ok' }, testDatastore: { status: 'degraded' } }
    })
    const { secret } = await down.createKey()
    const response = await down.inject({ url: '/v1/patients', headers: { 'x-api-key': secret } })
    t.equal(response.statusCode, 503)
    t.match(response.json(), { code: 'BACKEND_UNAVAILABLE', meta: { rateLimitTotal: 1000 } })
    t.match(response.headers['retry-after'], /^\d+$/)
    t.notMatch(response.body, '127.0.0.1')
  }
)
