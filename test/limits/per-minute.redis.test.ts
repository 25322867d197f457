import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { redisPassword, startRedis } from '../harness/redis.js'
import { startControlPlane, startService, temporary, until } from '../link/control-plane.js'

const limit = 200

type Gateway = Awaited<ReturnType<typeof startService>>

/** Three gateways that follow one control plane and count on one Redis. */
async function fleet (t: Test) {
  const redis = await startRedis(t)
  const plansFile = join(temporary(t), 'plans.json')
  writeFileSync(plansFile, JSON.stringify({ pro: { requestsPerMinute: limit, requestsPerMonth: null, overage: true } }))
  const control = await startControlPlane(t, { CLINIGATE_PLANS: plansFile })
  const variables = { CLINIGATE_ROLE: 'gateway', CONTROL_URL: control.url, CLINIGATE_GATEWAY_TOKEN: control.token, CLINIGATE_PLANS: plansFile, REDIS_URL: redis.url }
  const gateways = await Promise.all([1, 2, 3].map(() => startService(t, variables)))
  const { secret } = await control.createKey()
  const ask = async ({ app }: Gateway) => await app.inject({ url: '/v1/patients/none', headers: { 'x-api-key': secret } })
  const healthOf = async ({ app }: Gateway) => (await app.inject('/health')).json().data.checks.sharedCounts.status
  await until(async () => (await Promise.all(gateways.map(healthOf))).every(status => status === 'ok'))
  await until(async () => (await Promise.all(gateways.map(ask))).every(({ statusCode }) => statusCode === 404))
  return { redis, gateways, ask, healthOf }
}

t.test('several gateways admit exactly the limit together', { timeout: 300_000 }, async t => {
  const { gateways, ask, redis } = await fleet(t)
  const spent = limit - Number((await ask(gateways[0]!)).headers['x-ratelimit-remaining'])
  const answers = await Promise.all(Array.from({ length: limit * 2 }, (_, i) => ask(gateways[i % 3]!)))
  const admitted = answers.filter(({ statusCode }) => statusCode === 404).length
  t.equal(admitted, limit - spent)
  t.equal(answers.filter(({ statusCode }) => statusCode === 429).length, answers.length - admitted)
  const refused = answers.find(({ statusCode }) => statusCode === 429)!
  t.match(refused.headers, { 'ratelimit-policy': `"minute";q=${limit};w=60`, ratelimit: /^"minute";r=0;t=\d+$/ })
  t.equal(refused.headers['retry-after'], /t=(\d+)/.exec(refused.headers.ratelimit as string)![1])
  t.notMatch(JSON.stringify(gateways.map(({ lines }) => lines)), redisPassword)
  t.match(redis.url, redisPassword)
})

t.test('while Redis is gone or silent each gateway counts for itself, and they count together again when it is back', { timeout: 300_000 }, async t => {
  const { gateways, ask, redis, healthOf } = await fleet(t)
  const [gateway] = gateways as [Gateway]
  await redis.stop()
  t.same((await Promise.all(gateways.map(ask))).map(({ statusCode }) => statusCode), [404, 404, 404], 'nobody is refused for that')
  t.equal((await ask(gateway)).headers['x-ratelimit-limit'], String(limit), 'a limit there is all the same')
  await until(async () => await healthOf(gateway) === 'degraded')
  await redis.start()
  await until(async () => await healthOf(gateway) === 'ok', 30)
  const first = Number((await ask(gateways[0]!)).headers['x-ratelimit-remaining'])
  const second = Number((await ask(gateways[1]!)).headers['x-ratelimit-remaining'])
  t.equal(second, first - 1, 'one count for both')

  redis.freeze()
  const answered = await Promise.all(gateways.flatMap(gateway => [ask(gateway), ask(gateway)]))
  t.same(answered.map(({ statusCode }) => statusCode), Array(6).fill(404), 'a server that is silent keeps nobody waiting')
  redis.thaw()
  await until(async () => await healthOf(gateway) === 'ok', 30)
  t.match(gateway.lines.join(''), /each gateway counts for itself[^]*counted over all gateways again/)
})
