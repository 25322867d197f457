import { join } from 'node:path'
import t from 'tap'
import { ledgerLines } from '../../src/limits/usage-ledger/file.js'
import { overageAmount } from '../../src/limits/overage.js'
import { startGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'
import { command } from './command.js'

const plans = { pro: { requestsPerMinute: null, requestsPerMonth: 3, overage: true } }

t.test('a bill is exact to the hour, and anyone with the ledger comes to the same', async t => {
  const clock = { now: new Date('2030-01-15T12:30:00Z') }
  const gateway = await startGateway(t, { plans, now: () => clock.now })
  const { secret, tenantId } = await gateway.createKey({ mode: 'live' })
  const test = await gateway.createKey({ tenantId })
  const ask = async (key: string) => await gateway.inject({ url: '/v1/patients/none', headers: { 'x-api-key': key } })
  for (let i = 0; i < 4; i++) await ask(secret)
  await ask(test.secret)
  clock.now = new Date('2030-01-15T13:00:00Z')
  await ask(secret)
  clock.now = new Date('2030-02-01T00:00:00Z')
  await ask(secret)
  await until(async () => (await gateway.control.usage.bill(tenantId, '2030-02')).counted === 1)
  // The ledger notes down what was taken a moment later.
  await until(() => ledgerLines(join(gateway.dataDirectory, 'usage.db'), 'unsent').length === 0)

  const environment = {
    CLINIGATE_DATA: gateway.dataDirectory,
    CLINIGATE_PLANS: join(gateway.dataDirectory, '..', 'plans.json')
  }
  const bill = await command(environment, 'usage', 'bill', '--tenant', tenantId, '--month', '2030-01')
  t.same(JSON.parse(bill.out), {
    tenantId,
    month: '2030-01',
    currency: 'USD',
    counted: 5,
    overage: 2,
    amount: '0.006',
    hours: [
      { hour: '2030-01-15T12:00:00Z', counted: 4, overage: 1, amount: '0.003' },
      { hour: '2030-01-15T13:00:00Z', counted: 1, overage: 1, amount: '0.003' }
    ]
  })
  const csv = await command(environment, 'usage', 'bill', '--tenant', tenantId, '--month', '2030-01', '--csv')
  t.equal(
    csv.out,
    'hour,counted,overage,amount_usd\r\n2030-01-15T12:00:00Z,4,1,0.003\r\n2030-01-15T13:00:00Z,1,1,0.003\r\n2030-01,5,2,0.006\r\n'
  )

  const again = await command(environment, 'usage', 'recompute', '--month', '2030-01')
  t.equal(again.code, 0)
  t.match(JSON.parse(again.out), [
    {
      tenantId,
      ledger: { counted: 5, overage: 2 },
      unsent: { counted: 0 },
      controlPlane: { counted: 5, overage: 2 },
      agrees: true
    }
  ])
  const other = await startGateway(t, { plans })
  const lost = await command(
    { ...environment },
    'usage',
    'recompute',
    '--month',
    '2030-01',
    '--ledger',
    join(other.dataDirectory, 'usage.db')
  )
  t.match(lost, { code: 1, err: '' }, 'what does not agree is told')
  t.match(JSON.parse(lost.out), [{ ledger: { counted: 0 }, agrees: false }])
  t.match(await command(environment, 'usage', 'bill', '--tenant', tenantId, '--month', '2030-13'), { code: 2 })
})

t.test('an amount has no rounding, however large', async t => {
  t.equal(overageAmount(0), '0.000')
  t.equal(overageAmount(1), '0.003')
  t.equal(overageAmount(334), '1.002')
  t.equal(overageAmount(9_007_199_254_740_991), '27021597764222.973')
})
