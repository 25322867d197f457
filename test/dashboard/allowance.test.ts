import t from 'tap'
import { projectUsage } from '../../src/control-plane/dashboard/usage/quota.js'
import { createSignedInVisitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'

const plans = { pro: { requestsPerMinute: null, requestsPerMonth: 10, overage: true } }

t.test(
  'the overview warns at 80 % and at 100 % of the monthly allowance, shows projection and cost, and the bill can be downloaded',
  async t => {
    const now = new Date('2030-01-16T12:00:00Z')
    const gateway = await startGateway(t, { plans, now: () => now })
    const { secret, tenantId } = await gateway.createKey({ mode: 'live' })
    const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId, now })
    const sendRequests = async (times: number) => {
      for (let i = 0; i < times; i++) {
        await gateway.inject({ url: '/v1/patients/none', headers: { 'x-api-key': secret } })
      }
    }
    let sent = 0
    const readOverviewAfter = async (times: number) => {
      await sendRequests(times)
      sent += times
      await waitUntil(async () => (await gateway.control.usage.getBill(tenantId, '2030-01')).counted === sent)
      return (await admin.get(`/dashboard/organizations/${tenantId}`)).text
    }
    const first = await readOverviewAfter(7)
    t.match(first, '7 of 10 requests of the plan used this month. At this pace about 14 by the end of the month.')
    t.notMatch(first, /80 %|used up/)
    t.match(await readOverviewAfter(1), 'More than 80 % of the month’s allowance is used.')
    const past = await readOverviewAfter(4)
    t.match(past, 'The month’s allowance is used up. Further live requests are served and billed.')
    t.match(past, '2 came past the allowance and cost 0.006 USD so far.')
    await gateway.control.organizations.change(tenantId, { overage: false }, 'test')
    t.match(await readOverviewAfter(0), 'Live requests are refused until 1 Feb.')

    const csv = await admin.get(`/dashboard/organizations/${tenantId}/bill?month=2030-01&format=csv`)
    t.match(csv.headers, {
      'content-type': /^text\/csv/,
      'content-disposition': 'attachment; filename="bill-2030-01.csv"'
    })
    t.match(csv.html, '2030-01,12,2,0.006')
    t.match(
      JSON.parse((await admin.get(`/dashboard/organizations/${tenantId}/bill?month=2030-01&format=json`)).html),
      { counted: 12, amount: '0.006' }
    )
  }
)

t.test('usage is projected from the second day of the month on', async t => {
  t.equal(projectUsage({ counted: 10, now: new Date('2030-01-01T23:59:59Z') }), undefined)
  t.equal(projectUsage({ counted: 10, now: new Date('2030-01-02T00:00:00Z') }), 310)
  t.equal(projectUsage({ counted: 0, now: new Date('2030-02-15T00:00:00Z') }), 0)
})
