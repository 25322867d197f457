import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { modes } from '../config/mode.js'
import type { Plans } from '../config/schema.js'
import { commonFailures, describeRoute, buildResponses } from '../envelope/openapi-responses.js'
import { requireNoQuery } from '../envelope/query.js'
import { startOfMonth, toMonth } from './month.js'
import type { MonthlyUsage } from './usage-ledger/month-counts.js'
import { quotaExempt } from './monthly-quota.js'
import { getPlan } from './plans.js'

/** `months` counts the requests. */
interface UsageRouteOptions { readonly plans: Plans, readonly months: Pick<MonthlyUsage, 'countUsed'> }

const monthSchema = Type.Object({
  month: Type.String({ description: 'In UTC.', examples: ['2030-01'] }),
  mode: Type.Enum(modes, { type: 'string' }),
  plan: Type.String(),
  limit: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'The monthly quota; null means unlimited.'
  }),
  used: Type.Integer({ minimum: 0 }),
  remaining: Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 0 }),
  overage: Type.Integer({
    minimum: 0,
    description:
      'Live requests beyond the quota of the current plan. The bill counts each request by the plan that was in force when it came in; the dashboard shows what it costs.'
  }),
  resetsAt: Type.String({ format: 'date-time', description: 'When the next month begins.' })
})

/** The usage of an organization in the current month, with keys of the caller's mode. */
type MonthSoFar = Readonly<Static<typeof monthSchema>>

const described = describeRoute({
  operationId: 'readUsage',
  tags: ['service'],
  summary: 'Read the usage of the current month',
  description:
    "The usage of the key's organization with all its keys of the same mode. When the quota is used up and there is no overage, this request still works, as do requests that show or cancel bulk jobs. They do not count then.",
  responses: buildResponses({ status: 200, description: 'The usage so far.', data: { ...monthSchema } }, commonFailures)
})

/**
 * `GET /v1/usage`: the usage of the caller's organization in the current month. Requests to other gateways are included
 * with a delay of some seconds.
 */
export async function usageRoute (scope: FastifyInstance, options: UsageRouteOptions): Promise<void> {
  const config = { ...quotaExempt.config, target: 'any' } as const
  scope.get('/usage', { config, ...described }, async request => getCurrentUsage(request, options))
}

function getCurrentUsage (
  { caller, arrivedAt, raw }: FastifyRequest, { plans, months }: UsageRouteOptions
): MonthSoFar {
  requireNoQuery({ raw })
  const { mode, plan } = caller
  const limit = getPlan(plans, plan).requestsPerMonth
  const month = toMonth(arrivedAt)
  const used = months.countUsed(caller, month)
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
