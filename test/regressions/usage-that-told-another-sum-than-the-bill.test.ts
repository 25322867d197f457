import t from 'tap'
import { startGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'

const plans = {
  large: { requestsPerMinute: null, requestsPerMonth: 100, overage: true },
  small: { requestsPerMinute: null, requestsPerMonth: 2, overage: true }
}

t.test(
  'what a caller is told of its month is no sum of money, since what came before a change of plan is billed by the plan of then',
  async t => {
    const gateway = await startGateway(t, { plans, now: () => new Date('2030-01-15T12:00:00Z') })
    const { secret, tenantId } = await gateway.createKey({ plan: 'large', mode: 'live' })
    const ask = async (path: string) =>
      (await gateway.inject({ url: `/v1/${path}`, headers: { 'x-api-key': secret } })).json()
    for (let i = 0; i < 4; i++) await ask('patients/none')
    await gateway.control.organizations.change(tenantId, { plan: 'small' }, 'test')
    await gateway.catchUp()
    const { data } = await ask('usage')
    t.match(data, { plan: 'small', limit: 2, used: 5, overage: 3 })
    const bill = async () => await gateway.control.usage.bill(tenantId, '2030-01')
    await until(async () => (await bill()).counted === 5)
    t.match(await bill(), { overage: 1, amount: '0.003' })
    t.notOk('overageAmount' in data)
  }
)
