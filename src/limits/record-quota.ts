import type { Plans } from '../config.js'
import type { JobOwner } from '../jobs/job.js'
import { monthOf } from './month.js'
import type { MonthCounts } from './ledger/month-counts.js'
import { exceeded, isServedPast } from './monthly-quota.js'
import { planNamed } from './plans.js'
import { isCounted, type Use, type UsageInteraction } from './usage.js'

/** A record's place in its organization's month. */
export interface RecordTicket {
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
  readonly record: (use: Use, at: string, times: number) => void
  readonly now: () => Date
}

/** Counts the records of imports with the same ledger as requests, and holds them to the same allowance. */
export function recordQuota ({ plans, months, record, now }: RecordQuotaOptions): (owner: JobOwner) => RecordQuota {
  return owner => {
    const plan = planNamed(plans, owner.plan)
    return {
      take: () => {
        if (plan.requestsPerMonth === null) return unlimited
        const taken = months.take(owner, monthOf(now().toISOString()))
        const isOverage = taken.used > plan.requestsPerMonth
        if (!isOverage || isServedPast(owner, plan)) return { isOverage, giveBack: taken.giveBack }
        taken.giveBack()
        throw exceeded(owner, plan)
      },
      count: uses => {
        for (const { ticket, status } of uses) if (!isCounted(status)) ticket.giveBack()
        for (const { use, times } of gathered(uses, owner)) record(use, now().toISOString(), times)
      }
    }
  }
}

const unlimited: RecordTicket = { isOverage: false, giveBack: () => {} }

/** What all records of a kind have in common, and how many there are. */
function gathered (uses: readonly RecordUse[], { tenantId, mode, keyId }: JobOwner): ReadonlyArray<{ readonly use: Use, readonly times: number }> {
  const kinds = new Map<string, { use: Use, times: number }>()
  for (const { ticket, type, interaction, status } of uses) {
    if (!isCounted(status)) continue
    const use: Use = { tenantId, mode, keyId, resource: type, interaction, outcome: status < 400 ? 'ok' : 'error', isCounted: true, isOverage: ticket.isOverage }
    const name = `${type} ${interaction} ${use.outcome} ${use.isOverage ? 1 : 0}`
    const kind = kinds.get(name)
    if (kind === undefined) kinds.set(name, { use, times: 1 })
    else kind.times++
  }
  return [...kinds.values()]
}
