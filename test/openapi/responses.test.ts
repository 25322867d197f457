import t from 'tap'
import { startGateway } from '../harness/gateway.js'
import { createDocumentedClient, testExamples } from './responses-contract.js'

t.test('on the sandbox', async t => testExamples(t, {}))

t.test('failures respond as documented', async t => {
  const plans = {
    pro: { requestsPerMinute: 100, requestsPerMonth: null, overage: true },
    slow: { requestsPerMinute: 1, requestsPerMonth: null, overage: true }
  }
  const { url, createKey } = await startGateway(t, { plans, config: { limits: { bodyBytes: 2048 } } })
  const { secret } = await createKey()
  const client = await createDocumentedClient(url, secret)
  const path = '/v1/patients'
  const statuses = {
    'no JSON': (await client({ method: 'POST', path, body: '{' })).status,
    'unknown filter': (await client({ method: 'GET', path, query: { colour: 'red' } })).status,
    'bad cursor': (await client({ method: 'GET', path, query: { cursor: 'x' } })).status,
    'count too small': (await client({ method: 'GET', path, query: { count: 0 } })).status,
    'another method meant': (await client({ method: 'POST', path, body: {}, headers: { 'x-http-method': 'DELETE' } }))
      .status,
    'no key': (await (await createDocumentedClient(url, undefined))({ method: 'GET', path })).status,
    'no such key': (await (await createDocumentedClient(url, 'nonsense'))({ method: 'GET', path })).status,
    'key to read': (
      await (
        await createDocumentedClient(url, (await createKey({ scopes: ['read'] })).secret)
      )({ method: 'POST', path, body: {} })
    ).status,
    'no such id': (await client({ method: 'PATCH', path: `${path}/{id}`, id: 'none', body: {} })).status,
    'XML wanted': (await client({ method: 'GET', path, headers: { accept: 'application/xml' } })).status,
    'too large': (await client({ method: 'POST', path, body: { firstName: 'x'.repeat(4000) } })).status,
    'XML sent': (await client({ method: 'POST', path, body: '<x/>', headers: { 'content-type': 'application/xml' } }))
      .status,
    'not valid': (await client({ method: 'POST', path, body: { firstName: 1 } })).status
  }
  t.strictSame(statuses, {
    'no JSON': 400,
    'unknown filter': 400,
    'bad cursor': 400,
    'count too small': 400,
    'another method meant': 400,
    'no key': 401,
    'no such key': 401,
    'key to read': 403,
    'no such id': 404,
    'XML wanted': 406,
    'too large': 413,
    'XML sent': 415,
    'not valid': 422
  })
  const limited = await createDocumentedClient(url, (await createKey({ plan: 'slow' })).secret)
  await limited({ method: 'GET', path })
  t.equal((await limited({ method: 'GET', path })).status, 429)
  const down = await startGateway(t, { fhirUrl: 'http://127.0.0.1:9/fhir' })
  t.equal(
    (await (await createDocumentedClient(down.url, (await down.createKey()).secret))({ method: 'GET', path })).status,
    503
  )
})

t.test('operations without a key respond as documented', async t => {
  const { url } = await startGateway(t)
  const client = await createDocumentedClient(url, undefined)
  for (const path of ['/health', '/health/ready', '/v1/metadata', '/openapi.json']) {
    t.equal((await client({ method: 'GET', path })).status, 200)
  }
  t.equal(
    (await client({ method: 'GET', path: '/v1/metadata', headers: { accept: 'application/fhir+json' } })).body
      .resourceType,
    'CapabilityStatement'
  )
  t.equal((await client({ method: 'GET', path: '/v1/metadata', headers: { accept: 'text/html' } })).status, 406)
})
