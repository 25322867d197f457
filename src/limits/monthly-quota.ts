import fp from 'fastify-plugin'
import type { Plan, Plans } from '../config/schema.js'
import { Failure } from '../envelope/failures.js'
import type { Caller } from '../keys/caller.js'
import { startOfMonth, toMonth } from './month.js'
import type { MonthlyUsage, QuotaReservation } from './usage-ledger/month-counts.js'
import { getPlan } from './plans.js'
import { isBillable } from './usage.js'

/** `months` counts the requests. */
interface MonthlyQuotaOptions { readonly plans: Plans, readonly months: Pick<MonthlyUsage, 'take'> }

/** A request's share of its organization's monthly quota. */
interface Quota {
  readonly limit: number
  readonly taken: QuotaReservation
  /** Whether it is above the quota and billed. Decided when the request arrives. */
  readonly isOverage: boolean
  /** Whether it is served above the quota without being counted, since it requests something already paid for. */
  readonly isFree: boolean
  readonly end: MonthEnd
}

/**
 * Options of a route that shows or ends something already paid for. When the quota is used up, it is still served, and
 * not counted.
 */
export const quotaExempt = { config: { isQuotaExempt: true } } as const

/** Options of a route that ends a job. It is served under overload too, since that job may be the cause. */
export const cancelRouteOptions = { config: { ...quotaExempt.config, pressureHandler: () => {} } } as const

/** The end of a month: as a Unix timestamp in milliseconds, and as ISO 8601. */
interface MonthEnd { readonly at: number, readonly text: string }

/**
 * Limits an organization to its plan's number of requests in a calendar month (UTC), separately for test and live.
 * Above it, live requests are served and billed if both plan and organization have overage. All others are refused with
 * MONTHLY_QUOTA_EXCEEDED or SANDBOX_QUOTA_EXCEEDED, except on exempt routes, which are served without being counted. A
 * request whose response does not count is refunded.
 */
export const monthlyQuota = fp<MonthlyQuotaOptions>(async (app, { plans, months }) => {
  const endOf = createMonthEndLookup()
  app.decorateRequest('quota')
  // With callbacks, since every request passes here and promises would cost more than the work itself.
  app.addHook('onRequest', (request, _, done) => {
    const { caller, arrivedAt, routeOptions: { config } } = request
    const plan = getPlan(plans, caller.plan)
    const limit = plan.requestsPerMonth
    if (limit !== null) {
      const month = toMonth(arrivedAt)
      const taken = months.take(caller, month)
      const isPast = taken.used > limit
      const isServed = !isPast || allowsOverage(caller, plan)
      const isFree = !isServed && config.isQuotaExempt === true
      request.quota = { limit, taken, isOverage: isPast && !isFree, isFree, end: endOf(month) }
      if (isFree) taken.refund()
      else if (!isServed) {
        throw monthlyQuotaExceeded(caller, plan, {
          'retry-after': String(getSecondsUntil(request.quota.end, arrivedAt))
        })
      }
    }
    done()
  })
  app.addHook('onSend', ({ quota }, { statusCode }, payload, done) => {
    if (quota !== undefined && !isBillable(statusCode)) quota.taken.refund()
    done(null, payload)
  })
}, { name: 'monthly-quota', dependencies: ['authenticate', 'identity'], fastify: '5.x' })

/** Whether requests above the quota are served. Test requests never are, since they are not billed. */
export function allowsOverage ({ mode, overage }: Pick<Caller, 'mode' | 'overage'>, plan: Plan): boolean {
  return mode === 'live' && plan.overage && overage
}

/** The refusal of a request above the quota. It mentions the switch for overage only if the plan has overage. */
export function monthlyQuotaExceeded (
  { mode }: Pick<Caller, 'mode'>,
  { overage }: Plan,
  headers: Readonly<Record<string, string>> = {}
): Failure {
  if (mode === 'test') return new Failure('SANDBOX_QUOTA_EXCEEDED', { headers })
  const message = overage
    ? 'Turn on overage in the dashboard, choose a larger plan, or wait for the next month.'
    : 'This plan has no overage. Choose a larger plan, or wait for the next month.'
  return new Failure('MONTHLY_QUOTA_EXCEEDED', { message, headers })
}

/**
 * Returns the end of a month such as `2030-01`. It caches the latest, since consecutive requests have the same month.
 */
function createMonthEndLookup (): (month: string) => MonthEnd {
  let known: MonthEnd & { readonly month: string } | undefined
  return month => {
    if (known?.month === month) return known
    const end = startOfMonth(month, 1)
    known = { month, at: end.getTime(), text: end.toISOString() }
    return known
  }
}

/** Seconds from a time (ISO 8601) to the end of its month, rounded up; at least one. */
export function getSecondsUntil ({ at: end }: MonthEnd, at: string): number {
  return Math.max(1, Math.ceil((end - Date.parse(at)) / 1_000))
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a route is served when the monthly quota is used up. See {@link quotaExempt}. */
    readonly isQuotaExempt?: boolean
  }
  interface FastifyRequest {
    /** Set by the hook of {@link monthlyQuota}, if the caller's plan has a quota. */
    quota?: Quota
  }
}
