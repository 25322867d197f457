import type { Plans } from '../config/schema.js'
import { Failure } from '../envelope/failures.js'
import type { JobOwner } from '../jobs/model/job.js'
import type { Replica } from '../keys/replica.js'
import { toMonth } from './month.js'
import type { MonthlyUsage } from './usage-ledger/month-counts.js'
import { monthlyQuotaExceeded, allowsOverage } from './monthly-quota.js'
import { getPlan } from './plans.js'
import { isBillable, type UsageEvent, type UsageInteraction } from './usage.js'

/** A record that was counted against its organization's monthly quota. */
export interface QuotaReservation {
  /** When it was counted, ISO 8601. It determines the month and hour of the record. */
  readonly at: string
  readonly isOverage: boolean
  /** Subtracts the record again, if it does not count. */
  readonly refund: () => void
}

/** The outcome of a record, for the usage. */
export interface RecordUse {
  readonly reservation: QuotaReservation
  /** Its R4 type. */
  readonly type: string
  readonly interaction: Extract<UsageInteraction, 'create' | 'update'>
  /** The HTTP status that a request for this record alone would get: 201, 422, 502. */
  readonly status: number
}

/** The monthly quota of one organization, against which each record of an import counts as a request. */
export interface RecordQuota {
  /**
   * Counts one record. @throws {Failure} MONTHLY_QUOTA_EXCEEDED or SANDBOX_QUOTA_EXCEEDED, like a request above the
   * quota; BACKEND_UNAVAILABLE while the organization's plan is unknown
   */
  readonly take: () => QuotaReservation
  /** Adds records with a stored result to the usage, each once. Refunds those that do not count. */
  readonly count: (uses: readonly RecordUse[]) => void
}

interface RecordQuotaOptions {
  readonly plans: Plans
  readonly organization: Replica['findOrganization']
  readonly months: Pick<MonthlyUsage, 'take'>
  readonly record: (use: UsageEvent, at: string) => void
  readonly now: () => Date
}

/**
 * Counts the records of imports in the same ledger as requests, and against the current quota, not that at the start of
 * the job.
 */
export function recordQuota (
  { plans, organization, months, record, now }: RecordQuotaOptions
): (owner: Pick<JobOwner, 'tenantId' | 'mode' | 'keyId'>) => RecordQuota {
  return ({ tenantId, mode, keyId }) => ({
    take: () => {
      const known = organization(tenantId)
      // It could not be billed, so it is refused, like a key of an unknown organization. No line fails because of it:
      // the job is retried later.
      if (known === undefined) {
        throw new Failure('BACKEND_UNAVAILABLE', {
          message: 'The plan cannot be checked at the moment. Start the import again later.',
          cause: 'the local key copy does not know the organization of the job'
        })
      }
      const plan = getPlan(plans, known.plan)
      const at = now().toISOString()
      if (plan.requestsPerMonth === null) return { at, isOverage: false, refund: () => {} }
      const { used, refund } = months.take({ tenantId, mode }, toMonth(at))
      const isOverage = used > plan.requestsPerMonth
      if (!isOverage || allowsOverage({ mode, overage: known.overage }, plan)) return { at, isOverage, refund }
      refund()
      throw monthlyQuotaExceeded({ mode }, plan)
    },
    count: uses => {
      for (const { reservation: { at, isOverage, refund }, type, interaction, status } of uses) {
        if (isBillable(status)) {
          record({
            tenantId,
            mode,
            keyId,
            resource: type,
            interaction,
            outcome: status < 400 ? 'ok' : 'error',
            isCounted: true,
            isOverage
          }, at)
        } else refund()
      }
    }
  })
}
