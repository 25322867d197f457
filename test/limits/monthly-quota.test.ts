import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { MonthlyUsage } from '../../src/limits/usage-ledger/month-counts.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'
import { startControlPlane, startService, createTemporaryDirectory } from '../sync/control-plane.js'

const plans = {
  sandbox: { requestsPerMinute: null, requestsPerMonth: 3, overage: false },
  pro: { requestsPerMinute: 100, requestsPerMonth: 3, overage: true },
  enterprise: { requestsPerMinute: null, requestsPerMonth: null, overage: true }
}

/** A gateway at a time of the test's choice. */
async function startGatewayAt (t: Test, start: string) {
  const clock = { now: new Date(start) }
  const gateway = await startGateway(t, { plans, now: () => clock.now })
  return { gateway, clock }
}

const createRequester =
  ({ inject }: Pick<TestGateway, 'inject'>, secret: string) =>
    async (path = 'patients/none', headers: Record<string, string> = {}) =>
      await inject({ url: `/v1/${path}`, headers: { 'x-api-key': secret, ...headers } })

t.test(
  'every response has the quota of the month; past it live requests are served and billed unless overage is off',
  async t => {
    const { gateway } = await startGatewayAt(t, '2030-01-15T12:00:00Z')
    const { secret, tenantId } = await gateway.createKey({ mode: 'live' })
    const sendRequest = createRequester(gateway, secret)
    const first = await sendRequest()
    t.match(first.headers, {
      'x-quota-limit': '3',
      'x-quota-used': '1',
      'x-quota-remaining': '2',
      'x-quota-billable': 'true',
      'x-quota-reset': '2030-02-01T00:00:00.000Z',
      'ratelimit-policy': '"minute";q=100;w=60, "month";q=3',
      ratelimit: /^"minute";r=99;t=\d+, "month";r=2;t=1425600$/
    })
    t.notOk('x-quota-overage' in first.headers)
    t.notOk('x-sandbox-limit' in first.headers)
    t.match((await sendRequest('patients?nonsense=1')).headers, { 'x-quota-used': '2' }, 'a mistake of the client counts')
    t.match((await sendRequest()).headers, { 'x-quota-used': '3', 'x-quota-remaining': '0' })
    const past = await sendRequest()
    t.match(
      [past.statusCode, past.headers],
      [404, { 'x-quota-used': '4', 'x-quota-remaining': '0', 'x-quota-overage': '1' }]
    )

    await gateway.control.organizations.change(tenantId, { overage: false }, 'test')
    await gateway.catchUp()
    const refused = await sendRequest()
    t.match(refused, { statusCode: 429, headers: { 'x-quota-used': '4', 'retry-after': '1425600' } })
    t.match(refused.json(), { code: 'MONTHLY_QUOTA_EXCEEDED', meta: { status: 429 } })
    t.match(await gateway.inject({ url: '/v1/fhir/Patient', headers: { 'x-api-key': secret } }), {
      statusCode: 429,
      headers: { 'x-quota-used': '4' }
    })
    await gateway.control.organizations.change(tenantId, { overage: true }, 'test')
    await gateway.catchUp()
    t.match(await sendRequest(), { statusCode: 404, headers: { 'x-quota-overage': '2' } })
  }
)

t.test('a caller can read its month, and gets the values of the headers', async t => {
  const { gateway } = await startGatewayAt(t, '2030-01-15T12:00:00Z')
  const { secret, tenantId } = await gateway.createKey({ mode: 'live' })
  const sendRequest = createRequester(gateway, secret)
  for (let i = 0; i < 4; i++) await sendRequest()
  const response = await sendRequest('usage')
  t.same(response.json().data, {
    month: '2030-01',
    mode: 'live',
    plan: 'pro',
    limit: 3,
    used: 5,
    remaining: 0,
    overage: 2,
    resetsAt: '2030-02-01T00:00:00.000Z'
  })
  t.match(response.headers, { 'x-quota-used': '5', 'x-quota-overage': '2' })
  const writing = await gateway.createKey({ tenantId, scopes: ['write'] })
  t.equal((await createRequester(gateway, writing.secret)('usage')).statusCode, 403)
  t.equal((await sendRequest('usage?month=2030-02')).statusCode, 400)
  const unlimited = await gateway.createKey({ plan: 'enterprise' })
  t.match((await createRequester(gateway, unlimited.secret)('usage')).json().data, {
    mode: 'test',
    limit: null,
    remaining: null,
    overage: 0
  })
})

t.test('a plan without overage and every test pool end at their limit, each with its own code', async t => {
  const { gateway } = await startGatewayAt(t, '2030-01-15T12:00:00Z')
  for (const [plan, mode, code] of [
    ['sandbox', 'live', 'MONTHLY_QUOTA_EXCEEDED'],
    ['pro', 'test', 'SANDBOX_QUOTA_EXCEEDED']
  ] as const) {
    const tenantId = await gateway.createOrganization(plan)
    const [one, other] = [await gateway.createKey({ tenantId, mode }), await gateway.createKey({ tenantId, mode })]
    const another = await gateway.createKey({ tenantId, mode: mode === 'live' ? 'test' : 'live' })
    for (const { secret } of [one, other, one]) t.equal((await createRequester(gateway, secret)()).statusCode, 404)
    t.match((await createRequester(gateway, other.secret)()).json(), { code, data: null })
    t.match(
      await createRequester(gateway, another.secret)(),
      {
        statusCode: 404,
        headers: {
          'x-quota-used': '1',
          'x-quota-billable': String(mode === 'test'),
          'x-sandbox-used': mode === 'live' ? '1' : undefined
        }
      },
      'the other mode has a month of its own'
    )
  }
})

t.test('requests that are rejected with 401 or 429, or fail on our side, do not count', async t => {
  const gateway = await startGateway(t, {
    plans: { pro: { ...plans.pro, requestsPerMinute: 2 } },
    fhirUrl: 'http://127.0.0.1:1'
  })
  const { secret, keyId } = await gateway.createKey({})
  const sendRequest = createRequester(gateway, secret)
  t.match(await sendRequest(), {
    statusCode: 503,
    headers: {
      'x-quota-used': '0',
      'x-quota-remaining': '3',
      'x-quota-billable': 'false',
      'x-sandbox-limit': '3',
      'x-sandbox-used': '0',
      'x-sandbox-remaining': '3'
    }
  })
  t.match(await sendRequest(), { statusCode: 503, headers: { 'x-quota-used': '0' } })
  t.match(await sendRequest(), { statusCode: 429 })
  await gateway.control.keys.revoke(keyId, 'test')
  await gateway.catchUp()
  t.equal((await sendRequest()).statusCode, 401)
})

t.test('a new month starts at 0, and a clock that goes back finds the old one unchanged', async t => {
  const { gateway, clock } = await startGatewayAt(t, '2030-01-31T23:59:59.900Z')
  const { secret } = await gateway.createKey({ plan: 'sandbox' })
  const sendRequest = createRequester(gateway, secret)
  for (const used of ['1', '2', '3']) {
    t.match((await sendRequest()).headers, { 'x-quota-used': used, 'x-quota-reset': '2030-02-01T00:00:00.000Z' })
  }
  t.match(await sendRequest(), { statusCode: 429, headers: { 'retry-after': '1' } })
  clock.now = new Date('2030-02-01T00:00:00.000Z')
  t.match(await sendRequest(), {
    statusCode: 404,
    headers: { 'x-quota-used': '1', 'x-quota-reset': '2030-03-01T00:00:00.000Z' }
  })
  clock.now = new Date('2030-01-31T23:59:59.900Z')
  t.equal((await sendRequest()).statusCode, 429)
})

t.test('a plan without a limit has no headers of months, and is counted all the same', async t => {
  const { gateway } = await startGatewayAt(t, '2030-01-15T12:00:00Z')
  const { secret } = await gateway.createKey({ plan: 'enterprise' })
  const response = await createRequester(gateway, secret)()
  t.strictSame(Object.keys(response.headers).filter(name => /quota|ratelimit/.test(name)), [])
})

t.test('concurrent requests never get more than the allowance together', async t => {
  const { gateway } = await startGatewayAt(t, '2030-01-15T12:00:00Z')
  const { secret } = await gateway.createKey({ plan: 'sandbox' })
  const responses = await Promise.all(Array.from({ length: 20 }, () => createRequester(gateway, secret)()))
  t.equal(responses.filter(({ statusCode }) => statusCode === 404).length, 3)
})

t.test('counts are preserved when a pool is evicted from memory: it is read from the ledger', async t => {
  const { gateway } = await startGatewayAt(t, '2030-01-15T12:00:00Z')
  const { secret, tenantId } = await gateway.createKey({ mode: 'live' })
  for (let i = 0; i < 5; i++) await createRequester(gateway, secret)()
  const read: string[] = []
  const counts = new MonthlyUsage({
    size: 2,
    ledger: {
      getMonthCount: ({ tenantId }, month) => {
        read.push(`${tenantId} ${month}`)
        return { own: 5, others: 2 }
      }
    }
  })
  const taken = counts.take({ tenantId, mode: 'live' }, '2030-01')
  t.equal(taken.used, 8)
  taken.refund()
  taken.refund()
  t.equal(taken.used, 7, 'given back once')
  for (const other of ['a', 'b', 'c']) counts.take({ tenantId: other, mode: 'live' }, '2030-01')
  counts.take({ tenantId, mode: 'live' }, '2030-01')
  t.equal(read.filter(name => name.startsWith(tenantId)).length, 2, 'no more than the size is held')
})

t.test(
  'requests that another gateway counted, or this one before its restart, count',
  { timeout: 300_000 },
  async t => {
    const CLINIGATE_PLANS = join(createTemporaryDirectory(t), 'plans.json')
    writeFileSync(
      CLINIGATE_PLANS,
      JSON.stringify({ pro: { requestsPerMinute: null, requestsPerMonth: 1_000_000, overage: false } })
    )
    const now = () => new Date('2030-01-15T12:00:00Z')
    const control = await startControlPlane(t, { CLINIGATE_PLANS }, now)
    const { secret } = await control.createKey()
    const start = async (CLINIGATE_DATA = createTemporaryDirectory(t)) =>
      await startService(
        t,
        {
          CLINIGATE_DATA,
          CLINIGATE_ROLE: 'gateway',
          CONTROL_URL: control.url,
          CLINIGATE_GATEWAY_TOKEN: control.token,
          CLINIGATE_PLANS
        },
        now
      )
    const fetchUsed = async ({ app }: Awaited<ReturnType<typeof start>>) =>
      Number((await app.inject({ url: '/v1/patients/none', headers: { 'x-api-key': secret } })).headers['x-quota-used'])
    const directory = createTemporaryDirectory(t)
    const [one, other] = await Promise.all([start(directory), start()])
    await waitUntil(async () => (await fetchUsed(one)) > 0)
    for (let i = 0; i < 10; i++) await fetchUsed(one)
    const ofOne = await fetchUsed(one)
    let ofOther = 1
    await waitUntil(async () => (await fetchUsed(other)) > 0)
    await waitUntil(async () => (await fetchUsed(other)) === ofOne + ++ofOther)
    t.equal(await fetchUsed(other), ofOne + ++ofOther, 'no more than there were')
    const before = await fetchUsed(one)
    await one.close()
    const again = await start(directory)
    let then = 0
    await waitUntil(async () => (then = await fetchUsed(again)) > 0)
    t.ok(then > before, 'nothing of the month is forgotten')
  }
)

t.test('requests that another part of the gateway has counted count here, and are never taken back', async t => {
  const months = new MonthlyUsage({ ledger: { getMonthCount: () => ({ own: 2, others: 3 }) } })
  const [pool, month] = [{ tenantId: 'org-a', mode: 'live' as const }, '2030-01']
  months.expect(pool, month, 4)
  t.equal(months.countUsed(pool, month), 5, 'which knew less')
  months.expect(pool, month, 100)
  t.equal(months.countUsed(pool, month), 100)
  t.equal(months.take(pool, month).used, 101)
  t.equal(months.countUsed({ tenantId: 'org-b', mode: 'live' }, month), 5)
  months.countElsewhere(pool, month)
  t.equal(months.countUsed(pool, month), 102)
  months.learn([{ ...pool, month, counted: 5 }])
  t.equal(months.countUsed(pool, month), 102, 'the control plane has not got it yet')
})
