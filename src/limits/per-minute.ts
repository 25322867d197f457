import rateLimit, { type CreateRateLimitOptions } from '@fastify/rate-limit'
import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Plans } from '../config.js'
import { Failure } from '../envelope/failures.js'
import { planNamed } from './plans.js'

/** Counts a request against its organization's minute; `windowMs` is a minute but in tests. */
export interface PerMinuteOptions { readonly plans: Plans, readonly windowMs?: number }

/** More organizations than this within one window would let the oldest begin anew. */
const countedOrganizations = 100_000

/**
 * Limits the requests of an organization, over all its keys, to its plan's number in a minute, test and live apart.
 * Says so in headers on every answer, and refuses with RATE_LIMITED.
 */
export const perMinute = fp<PerMinuteOptions>(async (app, { plans, windowMs = 60_000 }) => {
  await app.register(rateLimit, { global: false })
  const options = {
    // Limiters share one key space in a shared store, so the key begins with the limiter's name.
    keyGenerator: ({ caller }) => `min:${caller.tenantId}:${caller.mode}`,
    max: ({ caller }) => planNamed(plans, caller.plan).requestsPerMinute ?? Infinity,
    timeWindow: windowMs,
    cache: countedOrganizations
  } satisfies CreateRateLimitOptions & { cache: number }
  const count = app.createRateLimit(options)
  app.addHook('onRequest', async (request, reply) => {
    if (planNamed(plans, request.caller.plan).requestsPerMinute === null) return
    const counted = await count(request)
    if (counted.isAllowed) throw new Error('the limiter has no list of callers without a limit')
    tell(request, reply, counted)
    if (counted.isExceeded) throw new Failure('RATE_LIMITED', { headers: { 'retry-after': String(counted.ttlInSeconds) } })
  })
}, { name: 'per-minute', dependencies: ['authenticate'], fastify: '5.x' })

function tell (request: FastifyRequest, reply: FastifyReply, { max, remaining, ttlInSeconds }: { max: number, remaining: number, ttlInSeconds: number }): void {
  request.rate = { limit: max, remaining, resetSeconds: ttlInSeconds }
  reply.headers({ 'x-ratelimit-limit': max, 'x-ratelimit-remaining': remaining, 'x-ratelimit-reset': ttlInSeconds })
}
