import t from 'tap'
import { startGateway } from '../harness/gateway.js'

t.test(
  'where the clock of the machine is set back by an hour, the minute of an organization and of an address ends all the same',
  async t => {
    const plans = { sandbox: { requestsPerMinute: 2, requestsPerMonth: null, overage: false } }
    const { createKey, inject } = await startGateway(t, { plans, config: { limits: { failedAttemptsPerMinute: 2 } } })
    const { secret } = await createKey({ plan: 'sandbox' })
    const get = (key?: string) =>
      inject({ url: '/v1/patients', headers: key === undefined ? {} : { 'x-api-key': key } })
    const statusesOf = async (key?: string) =>
      [await get(key), await get(key), await get(key)].map(({ statusCode }) => statusCode)

    let [wall, engine] = [Date.now(), performance.now()]
    t.intercept(Date, 'now', { value: () => wall })
    t.intercept(performance, 'now', { value: () => engine })
    t.strictSame(await statusesOf(secret), [200, 200, 429])
    t.strictSame(await statusesOf(), [401, 401, 429])

    wall -= 3_600_000
    for (const key of [secret, undefined]) {
      const seconds = Number((await get(key)).headers['retry-after'])
      t.ok(seconds > 0 && seconds <= 60, `nobody is told to wait for ${seconds} s`)
    }
    wall += 60_001
    engine += 60_001
    t.strictSame(await statusesOf(secret), [200, 200, 429], 'an organization')
    t.strictSame(await statusesOf(), [401, 401, 429], 'an address')
  }
)
