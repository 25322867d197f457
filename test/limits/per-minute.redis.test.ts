import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { redisPassword, startRedis } from '../harness/redis.js'
import { waitUntil } from '../harness/until.js'
import { startControlPlane, startService, createTemporaryDirectory } from '../sync/control-plane.js'
import { forEachConcurrently } from '../sync/processes.js'

const limit = 200

type Gateway = Awaited<ReturnType<typeof startService>>

/** Three gateways that follow one control plane and count on one Redis. */
async function startFleet (t: Test) {
  const redis = await startRedis(t)
  const plansFile = join(createTemporaryDirectory(t), 'plans.json')
  writeFileSync(plansFile, JSON.stringify({ pro: { requestsPerMinute: limit, requestsPerMonth: null, overage: true } }))
  const control = await startControlPlane(t, { CLINIGATE_PLANS: plansFile })
  const variables = {
    CLINIGATE_ROLE: 'gateway',
    CONTROL_URL: control.url,
    CLINIGATE_GATEWAY_TOKEN: control.token,
    CLINIGATE_PLANS: plansFile,
    REDIS_URL: redis.url
  }
  const gateways = await Promise.all([1, 2, 3].map(() => startService(t, variables)))
  const { secret } = await control.createKey()
  const sendRequest = async ({ app }: Gateway, key = secret) =>
    await app.inject({ url: '/v1/patients/none', headers: { 'x-api-key': key } })
  /** Resolves when every gateway knows a key; each counted one request with it. */
  const isKnown = async (key: string) => {
    await Promise.all(
      gateways.map(gateway => waitUntil(async () => (await sendRequest(gateway, key)).statusCode === 404))
    )
  }
  /** A key of a new organization, which every gateway knows. */
  const newKey = async () => {
    const { tenantId } = await control.control.organizations.create({ name: 'another clinic', plan: 'pro' }, 'test')
    const { secret: key } = await control.control.keys.create({ tenantId, mode: 'test', name: 'a key' }, 'test')
    await isKnown(key)
    return key
  }
  const fetchHealth = async ({ app }: Gateway) => (await app.inject('/health')).json().data.checks.sharedCounts.status
  await waitUntil(async () => (await Promise.all(gateways.map(fetchHealth))).every(status => status === 'ok'))
  await isKnown(secret)
  /** How often one of them started to count for itself. */
  const countLosses = () =>
    gateways.flatMap(({ lines }) => lines).filter(line => line.includes('each gateway counts alone')).length
  return { redis, gateways, sendRequest, newKey, fetchHealth, countLosses }
}

t.test('several gateways admit exactly the limit together', { timeout: 300_000 }, async t => {
  const { gateways, sendRequest, newKey, redis, countLosses } = await startFleet(t)
  const round = async () => {
    const [lossesBefore, startedAt] = [countLosses(), performance.now()]
    const key = await newKey()
    const spent = limit - Number((await sendRequest(gateways[0]!, key)).headers['x-ratelimit-remaining'])
    const responses: Array<Awaited<ReturnType<typeof sendRequest>>> = []
    await forEachConcurrently(
      Array.from({ length: limit * 2 }, (_, i) => gateways[i % 3]!),
      12,
      async gateway => {
        responses.push(await sendRequest(gateway, key))
      }
    )
    // On a machine that stood still, the minute was over, or a gateway waited for Redis and counted for itself, as it
    // reports.
    return { spent, responses, isTried: countLosses() === lossesBefore && performance.now() - startedAt < 50_000 }
  }
  let { spent, responses, isTried } = await round()
  while (!isTried) ({ spent, responses, isTried } = await round())
  const admitted = responses.filter(({ statusCode }) => statusCode === 404).length
  t.equal(admitted, limit - spent)
  t.equal(responses.filter(({ statusCode }) => statusCode === 429).length, responses.length - admitted)
  const refused = responses.find(({ statusCode }) => statusCode === 429)!
  t.match(refused.headers, { 'ratelimit-policy': `"minute";q=${limit};w=60`, ratelimit: /^"minute";r=0;t=\d+$/ })
  t.equal(refused.headers['retry-after'], /t=(\d+)/.exec(refused.headers.ratelimit as string)![1])
  t.notMatch(JSON.stringify(gateways.map(({ lines }) => lines)), redisPassword)
  t.match(redis.url, redisPassword)
})

t.test(
  'while Redis is down or silent each gateway counts alone, and they count together again when it is back',
  { timeout: 300_000 },
  async t => {
    const { gateways, sendRequest, redis, fetchHealth, countLosses } = await startFleet(t)
    const [gateway] = gateways as [Gateway]
    await redis.stop()
    t.same(
      (await Promise.all(gateways.map(gateway => sendRequest(gateway)))).map(({ statusCode }) => statusCode),
      [404, 404, 404],
      'nobody is refused for that'
    )
    t.equal((await sendRequest(gateway)).headers['x-ratelimit-limit'], String(limit), 'a limit there is all the same')
    await waitUntil(async () => (await fetchHealth(gateway)) === 'degraded')
    await redis.start()
    await waitUntil(async () => (await Promise.all(gateways.map(fetchHealth))).every(status => status === 'ok'))
    const fetchRemaining = async (at: number) => Number((await sendRequest(gateways[at]!)).headers['x-ratelimit-remaining'])
    let lossesBefore = countLosses()
    let [first, second] = [await fetchRemaining(0), await fetchRemaining(1)]
    // A gateway waited for Redis, on a machine that stood still.
    while (countLosses() > lossesBefore) {
      lossesBefore = countLosses()
      ;[first, second] = [await fetchRemaining(0), await fetchRemaining(1)]
    }
    t.equal(second, first - 1, 'one count for both')

    redis.freeze()
    const responses = await Promise.all(gateways.flatMap(gateway => [sendRequest(gateway), sendRequest(gateway)]))
    t.same(
      responses.map(({ statusCode }) => statusCode),
      Array(6).fill(404),
      'a server that is silent keeps nobody waiting'
    )
    redis.thaw()
    const countLines = (text: string) => gateway.lines.filter(line => line.includes(text)).length
    await waitUntil(async () => {
      await sendRequest(gateway)
      return countLines('counted across all gateways') === countLines('each gateway counts alone')
    })
    t.ok(countLines('each gateway counts alone') >= 2, 'the log says of each time that it began, and that it ended')
  }
)
