import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Plans } from '../config/schema.js'
import { requireNoQuery } from '../envelope/query.js'
import type { Mode } from '../config/mode.js'
import { startOfMonth, monthOf } from './month.js'
import type { MonthlyUsage } from './usage-ledger/month-counts.js'
import { quotaExempt } from './monthly-quota.js'
import { getPlan } from './plans.js'

/** `months` counts the requests. */
interface UsageRouteOptions { readonly plans: Plans, readonly months: Pick<MonthlyUsage, 'used'> }

/** The usage of an organization in the current month, with keys of the caller's mode. */
interface MonthSoFar {
  /** In UTC, such as `2030-01`. */
  readonly month: string
  readonly mode: Mode
  readonly plan: string
  /** The monthly quota. Null is unlimited. */
  readonly limit: number | null
  readonly used: number
  readonly remaining: number | null
  /**
   * Live requests above the quota of the current plan. The bill may differ: it counts each request by the plan at the
   * time.
   */
  readonly overage: number
  readonly resetsAt: string
}

/**
 * `GET /v1/usage`: the usage of the caller's organization in the current month. Requests to other gateways are included
 * with a delay of some seconds.
 */
export async function usageRoute (scope: FastifyInstance, options: UsageRouteOptions): Promise<void> {
  scope.get('/usage', { config: { ...quotaExempt.config, target: 'any' } }, async request => monthSoFar(request, options))
}

function monthSoFar ({ caller, arrivedAt, raw }: FastifyRequest, { plans, months }: UsageRouteOptions): MonthSoFar {
  requireNoQuery({ raw })
  const { mode, plan } = caller
  const limit = getPlan(plans, plan).requestsPerMonth
  const month = monthOf(arrivedAt)
  const used = months.used(caller, month)
  const overage = mode === 'live' && limit !== null ? Math.max(0, used - limit) : 0
  return {
    month,
    mode,
    plan,
    limit,
    used,
    remaining: limit === null ? null : Math.max(0, limit - used),
    overage,
    resetsAt: startOfMonth(month, 1).toISOString()
  }
}
