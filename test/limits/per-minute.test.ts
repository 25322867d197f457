import Fastify from 'fastify'
import fp from 'fastify-plugin'
import t from 'tap'
import { handleError } from '../../src/envelope/error-handlers.js'
import { identity } from '../../src/envelope/request-metadata.js'
import { envelope } from '../../src/envelope/reply.js'
import type { Caller } from '../../src/keys/caller.js'
import { limitHeaders } from '../../src/limits/limit-headers.js'
import { rateLimit } from '../../src/limits/rate-limit.js'
import { getPlan } from '../../src/limits/plans.js'
import { startGateway } from '../harness/gateway.js'

const plans = {
  sandbox: { requestsPerMinute: 3, requestsPerMonth: 10, overage: false },
  starter: { requestsPerMinute: 5, requestsPerMonth: 10, overage: false },
  team: { requestsPerMinute: null, requestsPerMonth: null, overage: false }
}

t.test('an organization shares one minute over all its keys, test and live separately', async t => {
  const { createKey, createOrganization, inject } = await startGateway(t, { plans })
  const tenantId = await createOrganization('sandbox')
  const keys = [await createKey({ tenantId }), await createKey({ tenantId })]
  const live = await createKey({ tenantId, mode: 'live' })
  const other = await createKey({ plan: 'sandbox' })
  const get = async (secret: string) => inject({ url: '/v1/patients', headers: { 'x-api-key': secret } })

  const statuses: number[] = []
  for (const { secret } of [...keys, ...keys]) statuses.push((await get(secret)).statusCode)
  t.strictSame(statuses, [200, 200, 200, 429])
  t.equal((await get(live.secret)).statusCode, 200, 'live has a minute of its own')
  t.equal((await get(other.secret)).statusCode, 200, 'so has another organization')

  const refused = await get(keys[0]!.secret)
  t.match(refused.json(), {
    data: null,
    code: 'RATE_LIMITED',
    meta: { status: 429, rateLimitTotal: 3, rateLimitRemaining: 0 }
  })
  t.match(refused.headers, {
    'x-ratelimit-limit': '3',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': /^\d+$/,
    'retry-after': /^\d+$/
  })
  const seconds = Number(refused.headers['retry-after'])
  t.ok(seconds >= 1 && seconds <= 60, 'a time to wait within the minute')
  t.equal(refused.json().meta.rateLimitReset, seconds)
})

t.test('polling a job does not use up the minute, and has a minute of its own', async t => {
  const { createKey, inject } = await startGateway(t, { plans })
  const { secret } = await createKey({ plan: 'sandbox' })
  const get = async (url: string) => (await inject({ url, headers: { 'x-api-key': secret } })).statusCode
  const polls = ['/v1/bulk/jobs/none', '/v1/fhir/_export/none', '/v1/fhir/_import/none', '/v1/bulk/jobs/none']
  const polled: number[] = []
  for (const url of polls) polled.push(await get(url))
  t.strictSame(polled, [404, 404, 404, 429])
  const others: number[] = []
  for (let i = 0; i < 4; i++) others.push(await get('/v1/patients'))
  t.strictSame(others, [200, 200, 200, 429])
})

t.test("every authenticated response has the rest of the minute's limit, rejections too", async t => {
  const { createKey, inject } = await startGateway(t, { plans })
  const { secret } = await createKey({ plan: 'starter', scopes: ['read'] })
  const headers = { 'x-api-key': secret }
  const responses = [
    await inject({ url: '/v1/patients', headers }),
    await inject({ url: '/v1/patients/none', headers }),
    await inject({ url: '/v1/nothing', headers }),
    await inject({ method: 'POST', url: '/v1/patients', headers, payload: {} }),
    await inject({ url: '/v1/patients', headers: { ...headers, accept: 'text/html' } }),
    await inject({ url: '/v1/patients', headers })
  ]
  t.strictSame(responses.map(response => response.statusCode), [200, 404, 404, 403, 406, 429])
  t.strictSame(responses.map(response => response.headers['x-ratelimit-remaining']), ['4', '3', '2', '1', '0', '0'])
  for (const response of responses) {
    const { rateLimitTotal, rateLimitRemaining, rateLimitReset } = response.json().meta
    t.strictSame(
      [rateLimitTotal, rateLimitRemaining, rateLimitReset].map(String),
      ['limit', 'remaining', 'reset'].map(name => response.headers[`x-ratelimit-${name}`])
    )
  }
})

t.test('an unlimited plan has no numbers, and a request without a key counts for no organization', async t => {
  const { createKey, inject } = await startGateway(t, { plans })
  const { secret } = await createKey({ plan: 'team' })
  for (const headers of [{ 'x-api-key': secret }, {} as Record<string, string>]) {
    const response = await inject({ url: '/v1/patients', headers })
    t.match(response.json().meta, { rateLimitTotal: null, rateLimitRemaining: null, rateLimitReset: null })
    t.strictSame(Object.keys(response.headers).filter(name => name.startsWith('x-ratelimit')), [])
  }
})

t.test('a plan that the configuration no longer has is rejected', async t => {
  t.throws(() => getPlan(plans, 'gone'), { code: 'INTERNAL_ERROR' })
  t.throws(() => getPlan(plans, 'constructor'), { code: 'INTERNAL_ERROR' })
  t.equal(getPlan(plans, 'sandbox'), plans.sandbox)
})

/** The limiter alone; the header names the organization. */
async function startLimited (windowMs: number) {
  const app = Fastify()
  const buildCaller = (tenantId: string): Caller => ({
    tenantId,
    keyId: 'k',
    keyName: 'k',
    plan: 'sandbox',
    overage: false,
    mode: 'test',
    scopes: ['*']
  })
  app.setErrorHandler(handleError)
  await app.register(identity, { now: () => new Date(0) })
  await app.register(envelope)
  await app.register(fp(async scope => {
    scope.decorateRequest('caller')
    scope.addHook('onRequest', async request => { request.caller = buildCaller(String(request.headers['x-tenant'])) })
  }, { name: 'authenticate' }))
  await app.register(rateLimit, { plans, windowMs })
  await app.register(limitHeaders)
  app.get('/', async () => 'ok')
  return async (tenant: string) => (await app.inject({ url: '/', headers: { 'x-tenant': tenant } })).statusCode
}

t.test('when the window is over the count starts again', async t => {
  const get = await startLimited(60_000)
  let now = performance.now()
  t.intercept(performance, 'now', { value: () => now })
  for (let i = 0; i < 3; i++) await get('a')
  now += 59_999
  t.equal(await get('a'), 429)
  now += 2
  t.equal(await get('a'), 200)
})

t.test("thousands of other organizations do not reset an organization's count", async t => {
  const get = await startLimited(60_000)
  for (let i = 0; i < 4; i++) await get('a')
  for (let i = 0; i < 6_000; i++) await get(`other-${i}`)
  t.equal(await get('a'), 429)
})
