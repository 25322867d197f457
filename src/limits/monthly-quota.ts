import fp from 'fastify-plugin'
import type { Plan, Plans } from '../config.js'
import { Failure } from '../envelope/failures.js'
import type { Caller } from '../keys/caller.js'
import { beginOf, monthOf } from './month.js'
import type { MonthCounts, Taken } from './ledger/month-counts.js'
import { planNamed } from './plans.js'
import { isCounted } from './usage.js'

/** Where the month is counted. */
interface MonthlyQuotaOptions { readonly plans: Plans, readonly months: Pick<MonthCounts, 'take'> }

/** What a request had of its organization's month; absent where the plan has no limit. */
interface Quota {
  readonly limit: number
  readonly taken: Taken
  /** Whether it came past the allowance and is billed; decided once, when it came in. */
  readonly isOverage: boolean
  /** Whether it is served past the allowance all the same and counts for nothing, since it asks for what was paid for before. */
  readonly isFree: boolean
  readonly end: MonthEnd
}

/** A route that shows what was paid for, or ends it: it is served when the month is used up, and not counted then. */
export const stillOpen = { config: { staysOpen: true } } as const

/** A route that ends a job. The guard against overload lets it pass: what is done for that job may be what is too much. */
export const cancelling = { config: { ...stillOpen.config, pressureHandler: () => {} } } as const

/** When the month after one begins: in milliseconds since 1970, and ISO 8601. */
interface MonthEnd { readonly at: number, readonly text: string }

/**
 * Holds an organization to its plan's number of requests in a calendar month, in UTC, test and live apart. Live requests past it
 * are served and billed where plan and organization have it so; all others are refused with MONTHLY_QUOTA_EXCEEDED or
 * SANDBOX_QUOTA_EXCEEDED, but for routes that stay open: those are served and not counted. An answer that doesn't count gives its request back.
 */
export const monthlyQuota = fp<MonthlyQuotaOptions>(async (app, { plans, months }) => {
  const endOf = monthEnds()
  app.decorateRequest('quota')
  // Every request meets these steps, and a promise for each would cost more than what they do.
  app.addHook('onRequest', (request, _, done) => {
    const { caller, arrivedAt, routeOptions: { config } } = request
    const plan = planNamed(plans, caller.plan)
    const limit = plan.requestsPerMonth
    if (limit !== null) {
      const month = monthOf(arrivedAt)
      const taken = months.take(caller, month)
      const isPast = taken.used > limit
      const isServed = !isPast || isServedPast(caller, plan)
      const isFree = !isServed && config.staysOpen === true
      request.quota = { limit, taken, isOverage: isPast && !isFree, isFree, end: endOf(month) }
      if (isFree) taken.giveBack()
      else if (!isServed) throw exceeded(caller, plan, { 'retry-after': String(secondsUntil(request.quota.end, arrivedAt)) })
    }
    done()
  })
  app.addHook('onSend', ({ quota }, { statusCode }, payload, done) => {
    if (quota !== undefined && !isCounted(statusCode)) quota.taken.giveBack()
    done(null, payload)
  })
}, { name: 'monthly-quota', dependencies: ['authenticate', 'identity'], fastify: '5.x' })

/** Test traffic is never billed, so it ends where its pool does. */
export function isServedPast ({ mode, overage }: Pick<Caller, 'mode' | 'overage'>, plan: Plan): boolean {
  return mode === 'live' && plan.overage && overage
}

/** The refusal of what comes past the allowance; it names the switch for overage only to who has one. */
export function exceeded ({ mode }: Pick<Caller, 'mode'>, { overage }: Plan, headers: Readonly<Record<string, string>> = {}): Failure {
  if (mode === 'test') return new Failure('SANDBOX_QUOTA_EXCEEDED', { headers })
  const message = overage ? 'Turn on overage in the dashboard, choose a larger plan, or wait for the next month.' : 'This plan has no overage. Choose a larger plan, or wait for the next month.'
  return new Failure('MONTHLY_QUOTA_EXCEEDED', { message, headers })
}

/** The end of a month such as `2030-01`; it is worked out once, since requests come in the same one. */
function monthEnds (): (month: string) => MonthEnd {
  let known: MonthEnd & { readonly month: string } | undefined
  return month => {
    if (known?.month === month) return known
    const end = beginOf(month, 1)
    known = { month, at: end.getTime(), text: end.toISOString() }
    return known
  }
}

/** From a moment, ISO 8601, to the end of its month; at least one. */
export function secondsUntil ({ at: end }: MonthEnd, at: string): number {
  return Math.max(1, Math.ceil((end - Date.parse(at)) / 1_000))
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a route is served when the month is used up: it shows or ends what was paid for before. */
    readonly staysOpen?: boolean
  }
  interface FastifyRequest {
    /** Known from the hook of {@link monthlyQuota} on, where the caller's plan has a limit. */
    quota?: Quota
  }
}
