import type { Plans } from '../config.js'
import type { JobOwner } from '../jobs/job.js'
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
  /** @throws {Failure} MONTHLY_QUOTA_EXCEEDED or SANDBOX_QUOTA_EXCEEDED, as a request past the allowance */
  readonly take: () => RecordTicket
  /** Counts records whose results are noted, each once; those that don't count are given back. */
  readonly count: (uses: readonly RecordUse[]) => void
}

interface RecordQuotaOptions {
  readonly plans: Plans
  readonly months: Pick<MonthCounts, 'take'>
  readonly record: (use: Use, at: string) => void
  readonly now: () => Date
}

/** Counts the records of imports with the same ledger as requests, and holds them to the same allowance. */
export function recordQuota ({ plans, months, record, now }: RecordQuotaOptions): (owner: JobOwner) => RecordQuota {
  return ({ tenantId, mode, keyId, plan: name, overage }) => ({
    take: () => {
      const plan = planNamed(plans, name)
      const at = now().toISOString()
      if (plan.requestsPerMonth === null) return { at, isOverage: false, giveBack: () => {} }
      const { used, giveBack } = months.take({ tenantId, mode }, monthOf(at))
      const isOverage = used > plan.requestsPerMonth
      if (!isOverage || isServedPast({ mode, overage }, plan)) return { at, isOverage, giveBack }
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
