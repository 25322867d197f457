import t, { type Test } from 'tap'
import { MonthlyUsage } from '../../src/limits/usage-ledger/month-counts.js'
import { recordQuota } from '../../src/limits/record-quota.js'
import { createLedgerPath, openLedger } from './usage-samples.js'

const owner = { tenantId: 'org-a', mode: 'live', keyId: 'key-a' } as const
const at = '2030-01-15T12:00:00.000Z'
const month = '2030-01'

const plans = {
  sandbox: { requestsPerMinute: null, requestsPerMonth: 2, overage: false },
  pro: { requestsPerMinute: null, requestsPerMonth: 2, overage: true },
  enterprise: { requestsPerMinute: null, requestsPerMonth: null, overage: true }
}

interface Known { readonly plan: string, readonly overage: boolean }

/** The quota of an organization, whose plan is by turns what the test sets. */
function createQuota (t: Test, begin: Known | undefined) {
  const organization = { known: begin }
  const ledger = openLedger(t, createLedgerPath(t))
  const months = new MonthlyUsage({ ledger })
  const quota = recordQuota({
    plans,
    organization: () => organization.known,
    months,
    record: (use, at) => ledger.record(use, at),
    now: () => new Date(at)
  })(owner)
  return { quota, organization, used: () => months.countUsed(owner, month) }
}

t.test('each record is counted by the plan of its organization at that time', async t => {
  const { quota, organization, used } = createQuota(t, { plan: 'pro', overage: true })
  t.strictSame([1, 2, 3].map(() => quota.take().isOverage), [false, false, true])
  const refused: ReadonlyArray<readonly [Known, RegExp]> = [
    [{ plan: 'pro', overage: false }, /^Turn on overage/],
    [{ plan: 'sandbox', overage: true }, /^This plan has no overage/]
  ]
  for (const [known, message] of refused) {
    organization.known = known
    t.throws(() => quota.take(), { code: 'MONTHLY_QUOTA_EXCEEDED', message })
  }
  organization.known = { plan: 'enterprise', overage: false }
  t.match(quota.take(), { at, isOverage: false })
  organization.known = { plan: 'pro', overage: true }
  t.match(quota.take(), { at, isOverage: true })
  t.equal(used(), 4, 'what was refused took nothing')
})

t.test('nothing is counted for an unknown organization, and no line is rejected for it', async t => {
  const { quota, organization, used } = createQuota(t, undefined)
  t.throws(() => quota.take(), { code: 'BACKEND_UNAVAILABLE', status: 503 })
  t.equal(used(), 0)
  organization.known = { plan: 'pro', overage: true }
  t.equal(quota.take().isOverage, false)
})

t.test('a record that failed because of the gateway or the datastore gives its count back', async t => {
  const { quota, used } = createQuota(t, { plan: 'pro', overage: true })
  quota.count(
    [201, 422, 502].map(status => ({ reservation: quota.take(), type: 'Patient', interaction: 'create', status }))
  )
  t.equal(used(), 2)
})
