import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Plans } from '../config.js'
import { Failure } from '../envelope/failures.js'
import { queryOf } from '../envelope/query.js'
import type { Mode } from '../mode.js'
import { beginOf, monthOf } from './month.js'
import type { MonthCounts } from './ledger/month-counts.js'
import { stillOpen } from './monthly-quota.js'
import { planNamed } from './plans.js'

/** Where the month is counted. */
interface UsageRouteOptions { readonly plans: Plans, readonly months: Pick<MonthCounts, 'used'> }

/** What a caller's organization has used of its month, with keys of the caller's mode. */
interface MonthSoFar {
  /** In UTC, such as `2030-01`. */
  readonly month: string
  readonly mode: Mode
  readonly plan: string
  /** The month's allowance; null is unlimited. */
  readonly limit: number | null
  readonly used: number
  readonly remaining: number | null
  /** Live requests past the allowance of the present plan. The bill is another thing: it counts each by the plan that was in force when it came. */
  readonly overage: number
  readonly resetsAt: string
}

/** `GET /v1/usage`: what a caller's organization has used of its month, as this gateway knows it; others' requests are some seconds late. */
export async function usageRoute (scope: FastifyInstance, options: UsageRouteOptions): Promise<void> {
  scope.get('/usage', stillOpen, async request => monthSoFar(request, options))
}

function monthSoFar ({ caller, arrivedAt, raw }: FastifyRequest, { plans, months }: UsageRouteOptions): MonthSoFar {
  if (queryOf(raw.url) !== '') throw new Failure('BAD_REQUEST', { message: 'Send no query parameters.' })
  const { mode, plan } = caller
  const limit = planNamed(plans, plan).requestsPerMonth
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
    resetsAt: beginOf(month, 1).toISOString()
  }
}
