import t from 'tap'
import { ledgerLines } from '../../src/limits/usage-ledger/file.js'
import { MonthlyUsage } from '../../src/limits/usage-ledger/month-counts.js'
import { recordQuota } from '../../src/limits/record-quota.js'
import { ledgerPlace, openLedger } from '../limits/usage-samples.js'

const owner = { tenantId: 'org-a', mode: 'live', keyId: 'key-a' } as const
const plans = { pro: { requestsPerMinute: null, requestsPerMonth: 2, overage: true } }

t.test(
  'a record counts in the month and hour in which it took its place, though its result comes in the next',
  async t => {
    const file = ledgerPlace(t)
    const ledger = openLedger(t, file)
    const months = new MonthlyUsage({ ledger })
    let now = '2030-01-31T23:59:59.900Z'
    const quota = recordQuota({
      plans,
      organization: () => ({ plan: 'pro', overage: true }),
      months,
      record: (use, at) => ledger.record(use, at),
      now: () => new Date(now)
    })(owner)
    const early = [quota.take(), quota.take(), quota.take()]
    now = '2030-02-01T00:00:00.200Z'
    const late = quota.take()
    quota.count(
      [...early, late].map(reservation => ({ reservation, type: 'Patient', interaction: 'create', status: 201 }))
    )
    await ledger.flush()
    t.strictSame(
      new Set(ledgerLines(file).map(({ hour, isOverage, count, lastAt }) => ({ hour, isOverage, count, lastAt }))),
      new Set([
        { hour: '2030-01-31T23:00:00Z', isOverage: false, count: 2, lastAt: '2030-01-31T23:59:59.900Z' },
        { hour: '2030-01-31T23:00:00Z', isOverage: true, count: 1, lastAt: '2030-01-31T23:59:59.900Z' },
        { hour: '2030-02-01T00:00:00Z', isOverage: false, count: 1, lastAt: '2030-02-01T00:00:00.200Z' }
      ])
    )
    for (const month of ['2030-01', '2030-02']) {
      const { own, others } = ledger.monthOf(owner, month)
      t.equal(months.used(owner, month), own + others, `what is in memory and what is on the disk of ${month} agree`)
    }
  }
)
