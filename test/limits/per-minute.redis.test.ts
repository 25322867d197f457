import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { redisPassword, startRedis } from '../harness/redis.js'
import { until } from '../harness/until.js'
import { startControlPlane, startService, temporary } from '../sync/control-plane.js'
import { eachOf } from '../sync/processes.js'

const limit = 200

type Gateway = Awaited<ReturnType<typeof startService>>

/** Three gateways that follow one control plane and count on one Redis. */
async function fleet (t: Test) {
  const redis = await startRedis(t)
  const plansFile = join(temporary(t), 'plans.json')
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
  const ask = async ({ app }: Gateway, key = secret) =>
    await app.inject({ url: '/v1/patients/none', headers: { 'x-api-key': key } })
  /** Resolves when every gateway knows a key; each counted one request with it. */
  const isKnown = async (key: string) => {
    await Promise.all(gateways.map(gateway => until(async () => (await ask(gateway, key)).statusCode === 404)))
  }
  /** A key of a new organization, which every gateway knows. */
  const newKey = async () => {
    const { tenantId } = await control.control.organizations.create({ name: 'another clinic', plan: 'pro' }, 'test')
    const { secret: key } = await control.control.keys.create({ tenantId, mode: 'test', name: 'a key' }, 'test')
    await isKnown(key)
    return key
  }
  const healthOf = async ({ app }: Gateway) => (await app.inject('/health')).json().data.checks.sharedCounts.status
  await until(async () => (await Promise.all(gateways.map(healthOf))).every(status => status === 'ok'))
  await isKnown(secret)
  /** How often one of them began to count for itself. */
  const losses = () =>
    gateways.flatMap(({ lines }) => lines).filter(line => line.includes('each gateway counts alone')).length
  return { redis, gateways, ask, newKey, healthOf, losses }
}

t.test('several gateways admit exactly the limit together', { timeout: 300_000 }, async t => {
  const { gateways, ask, newKey, redis, losses } = await fleet(t)
  const round = async () => {
    const [lossesBefore, startedAt] = [losses(), performance.now()]
    const key = await newKey()
    const spent = limit - Number((await ask(gateways[0]!, key)).headers['x-ratelimit-remaining'])
    const responses: Array<Awaited<ReturnType<typeof ask>>> = []
    await eachOf(
      Array.from({ length: limit * 2 }, (_, i) => gateways[i % 3]!),
      12,
      async gateway => {
        responses.push(await ask(gateway, key))
      }
    )
    // On a machine that stood still, the minute was over, or Redis kept a gateway waiting, which counts for itself
    // then, as it says.
    return { spent, answers: responses, isTried: losses() === lossesBefore && performance.now() - startedAt < 50_000 }
  }
  let { spent, answers: responses, isTried } = await round()
  while (!isTried) ({ spent, answers: responses, isTried } = await round())
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
  'while Redis is gone or silent each gateway counts alone, and they count together again when it is back',
  { timeout: 300_000 },
  async t => {
    const { gateways, ask, redis, healthOf, losses } = await fleet(t)
    const [gateway] = gateways as [Gateway]
    await redis.stop()
    t.same(
      (await Promise.all(gateways.map(gateway => ask(gateway)))).map(({ statusCode }) => statusCode),
      [404, 404, 404],
      'nobody is refused for that'
    )
    t.equal((await ask(gateway)).headers['x-ratelimit-limit'], String(limit), 'a limit there is all the same')
    await until(async () => (await healthOf(gateway)) === 'degraded')
    await redis.start()
    await until(async () => (await Promise.all(gateways.map(healthOf))).every(status => status === 'ok'))
    const left = async (at: number) => Number((await ask(gateways[at]!)).headers['x-ratelimit-remaining'])
    let lossesBefore = losses()
    let [first, second] = [await left(0), await left(1)]
    // Redis kept one waiting, on a machine that stood still.
    while (losses() > lossesBefore) {
      lossesBefore = losses()
      ;[first, second] = [await left(0), await left(1)]
    }
    t.equal(second, first - 1, 'one count for both')

    redis.freeze()
    const answered = await Promise.all(gateways.flatMap(gateway => [ask(gateway), ask(gateway)]))
    t.same(
      answered.map(({ statusCode }) => statusCode),
      Array(6).fill(404),
      'a server that is silent keeps nobody waiting'
    )
    redis.thaw()
    const times = (said: string) => gateway.lines.filter(line => line.includes(said)).length
    await until(async () => {
      await ask(gateway)
      return times('counted across all gateways') === times('each gateway counts alone')
    })
    t.ok(times('each gateway counts alone') >= 2, 'the log says of each time that it began, and that it ended')
  }
)
