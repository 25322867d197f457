import type { CreateRateLimitOptions } from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Plans } from '../config/schema.js'
import { Failure } from '../envelope/failures.js'
import type {} from './in-flight.js'
import { createLimiter, type Limiter, type RateLimitStoreClass } from './limiter.js'
import { quotaExempt } from './monthly-quota.js'
import { getPlan } from './plans.js'
import type { SharedRateLimitStore } from './shared-counts.js'
import { FixedWindowCounter } from './fixed-windows.js'

/**
 * Without `shared`, each gateway counts on its own; `counter` counts for all of its processes, where there are several.
 * `windowMs` is a minute, except in tests.
 */
interface PerMinuteOptions {
  readonly plans: Plans
  readonly shared?: SharedRateLimitStore
  readonly counter?: RateLimitStoreClass
  readonly windowMs?: number
}

/**
 * Options of a route that clients poll until a job has ended: its requests have a minute of their own, of the same
 * size, so that waiting for a job leaves the minute of other requests untouched.
 */
export const pollRouteOptions = { config: { ...quotaExempt.config, isPoll: true } } as const

/**
 * Limits the requests of an organization with all its keys to its plan's number per minute, separately for test and
 * live. Refuses with RATE_LIMITED, and sets the remaining requests on the request.
 */
export const rateLimit = fp<PerMinuteOptions>(async (app, options) => {
  const { plans, shared, counter = FixedWindowCounter, windowMs = 60_000 } = options
  const perMinute = {
    // Limiters share one key space in a shared store, so the key has the limiter's name as a prefix.
    keyGenerator: ({ caller, routeOptions }) =>
      `${routeOptions.config.isPoll === true ? 'poll' : 'min'}:${caller.tenantId}:${caller.mode}`,
    max: ({ caller }) => getPlan(plans, caller.plan).requestsPerMinute ?? Infinity,
    timeWindow: windowMs
  } satisfies CreateRateLimitOptions
  const countHere = await createLimiter(app, { store: counter }, perMinute)
  const count = shared
    ? withShared(
      shared,
      await createLimiter(app, { redis: shared.redis, nameSpace: 'clinigate:' }, perMinute),
      countHere
    )
    : countHere
  const windowSeconds = Math.ceil(windowMs / 1_000)
  const isCrowded = ({ permit }: FastifyRequest) => permit?.isAdmitted === false
  const countRequest = async (request: FastifyRequest) => {
    const counted = await count(request, isCrowded(request) ? { increment: false } : undefined)
    if (counted.isAllowed) throw new Error('the rate limiter has no allow list')
    request.rate = {
      limit: counted.max,
      remaining: counted.remaining,
      resetSeconds: counted.ttlInSeconds,
      windowSeconds
    }
    if (counted.isExceeded) throw new Failure('RATE_LIMITED', { retryAfterSeconds: counted.ttlInSeconds })
  }
  app.addHook('onRequest', (request, _, done) => {
    const goOn = () => done(isCrowded(request) ? new Failure('RATE_LIMITED', crowded) : undefined)
    if (getPlan(plans, request.caller.plan).requestsPerMinute === null) goOn()
    else countRequest(request).then(goOn, done)
  })
}, { name: 'per-minute', dependencies: ['authenticate'], fastify: '5.x' })

const crowded = {
  message:
    'Your organization has too many concurrent requests. Wait for a response before you send the next one. This request did not count against the rate limit or the monthly quota.',
  headers: { 'retry-after': '1' }
}

/**
 * Counts across all gateways, or only here while the shared counts are unavailable, so that no request fails because of
 * them.
 */
function withShared (shared: SharedRateLimitStore, countShared: Limiter, countHere: Limiter): Limiter {
  return async (...request) => {
    if (!shared.isUsable()) return await countHere(...request)
    try {
      const counted = await countShared(...request)
      shared.reportSuccess()
      return counted
    } catch (error) {
      shared.reportFailure(error)
      return await countHere(...request)
    }
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether clients poll this route. See {@link pollRouteOptions}. */
    readonly isPoll?: boolean
  }
}
