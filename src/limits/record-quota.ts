import type { Plans } from '../config.js'
import { Failure } from '../envelope/failures.js'
import type { JobOwner } from '../jobs/job.js'
import type { Replica } from '../keys/replica.js'
import { monthOf } from './month.js'
import type { MonthCounts } from './ledger/month-counts.js'
import { exceeded, isServedPast } from './monthly-quota.js'
import { planNamed } from './plans.js'
import { isCounted, type Use, type UsageInteraction } from './usage.js'

/** A record's place in its organization's month. */
export interface RecordTicket {
  /** When it was taken, ISO 8601: the month and the hour in which the record counts. */
  readonly at: string
  readonly isOverage: boolean
  /** Takes the record out of the month again, since it does not count. */
  readonly giveBack: () => void
}

/** What became of a record, as it is counted. */
export interface RecordUse {
  readonly ticket: RecordTicket
  /** Its R4 type. */
  readonly type: string
  readonly interaction: Extract<UsageInteraction, 'create' | 'update'>
  /** As the same request alone would be answered: 201, 422, 502. */
  readonly status: number
}

/** The month of one organization, of which each record of an import takes one. */
export interface RecordQuota {
  /** @throws {Failure} MONTHLY_QUOTA_EXCEEDED or SANDBOX_QUOTA_EXCEEDED, as a request past the allowance; BACKEND_UNAVAILABLE while it is not known what the organization has */
  readonly take: () => RecordTicket
  /** Counts records whose results are noted, each once; those that don't count are given back. */
  readonly count: (uses: readonly RecordUse[]) => void
}

interface RecordQuotaOptions {
  readonly plans: Plans
  readonly organization: Replica['organization']
  readonly months: Pick<MonthCounts, 'take'>
  readonly record: (use: Use, at: string) => void
  readonly now: () => Date
}

/** Counts the records of imports with the same ledger as requests, and holds them to the same allowance: that of the moment, whatever it was when the job began. */
export function recordQuota ({ plans, organization, months, record, now }: RecordQuotaOptions): (owner: Pick<JobOwner, 'tenantId' | 'mode' | 'keyId'>) => RecordQuota {
  return ({ tenantId, mode, keyId }) => ({
    take: () => {
      const known = organization(tenantId)
      // As a key is refused whose organization is not known: nobody could be charged. No line fails by it; the job is taken up again later.
      if (known === undefined) throw new Failure('BACKEND_UNAVAILABLE', { message: 'The plan cannot be checked at the moment. Start the import again later.', cause: 'the local key copy does not know the organization of the job' })
      const plan = planNamed(plans, known.plan)
      const at = now().toISOString()
      if (plan.requestsPerMonth === null) return { at, isOverage: false, giveBack: () => {} }
      const { used, giveBack } = months.take({ tenantId, mode }, monthOf(at))
      const isOverage = used > plan.requestsPerMonth
      if (!isOverage || isServedPast({ mode, overage: known.overage }, plan)) return { at, isOverage, giveBack }
      giveBack()
      throw exceeded({ mode }, plan)
    },
    count: uses => {
      for (const { ticket: { at, isOverage, giveBack }, type, interaction, status } of uses) {
        if (isCounted(status)) record({ tenantId, mode, keyId, resource: type, interaction, outcome: status < 400 ? 'ok' : 'error', isCounted: true, isOverage }, at)
        else giveBack()
      }
    }
  })
}
