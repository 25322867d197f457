import rateLimit, { type CreateRateLimitOptions, type RateLimitPluginOptions } from '@fastify/rate-limit'
import fp from 'fastify-plugin'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Plans } from '../config.js'
import { Failure } from '../envelope/failures.js'
import { planNamed } from './plans.js'
import type { SharedCounts } from './shared-counts.js'

/** Counts a request against its organization's minute; `windowMs` is a minute but in tests. Without shared counts each gateway counts for itself. */
export interface PerMinuteOptions { readonly plans: Plans, readonly shared?: SharedCounts, readonly windowMs?: number }

/** More organizations than this within one window would let the oldest begin anew. */
const countedOrganizations = 100_000

/**
 * Limits the requests of an organization, over all its keys, to its plan's number in a minute, test and live apart.
 * Says so in headers on every answer, and refuses with RATE_LIMITED.
 */
export const perMinute = fp<PerMinuteOptions>(async (app, { plans, shared, windowMs = 60_000 }) => {
  const options = {
    // Limiters share one key space in a shared store, so the key begins with the limiter's name.
    keyGenerator: ({ caller }) => `min:${caller.tenantId}:${caller.mode}`,
    max: ({ caller }) => planNamed(plans, caller.plan).requestsPerMinute ?? Infinity,
    timeWindow: windowMs
  } satisfies CreateRateLimitOptions
  const countHere = await limiter(app, { cache: countedOrganizations }, options)
  const count = shared ? withShared(shared, await limiter(app, { redis: shared.redis, nameSpace: 'clinigate:' }, options), countHere) : countHere
  app.addHook('onRequest', async (request, reply) => {
    if (planNamed(plans, request.caller.plan).requestsPerMinute === null) return
    const counted = await count(request)
    if (counted.isAllowed) throw new Error('the limiter has no list of callers without a limit')
    tell(request, reply, { ...counted, windowMs })
    if (counted.isExceeded) throw new Failure('RATE_LIMITED', { headers: { 'retry-after': String(counted.ttlInSeconds) } })
  })
}, { name: 'per-minute', dependencies: ['authenticate'], fastify: '5.x' })

type Limiter = ReturnType<FastifyInstance['createRateLimit']>

/** A limiter with a store of its own, which the plugin has one of in each scope. */
async function limiter (app: FastifyInstance, store: RateLimitPluginOptions, options: CreateRateLimitOptions): Promise<Limiter> {
  let made: Limiter | undefined
  await app.register(async scope => {
    await scope.register(rateLimit, { global: false, ...store })
    made = scope.createRateLimit({ ...options, cache: store.cache } as CreateRateLimitOptions)
  })
  return made!
}

/** Counts over all gateways while that is possible, and here while it is not: no request is refused or lost because of it. */
function withShared (shared: SharedCounts, countShared: Limiter, countHere: Limiter): Limiter {
  return async request => {
    if (!shared.isUsable()) return await countHere(request)
    try {
      return await countShared(request)
    } catch (error) {
      shared.failed(error)
      return await countHere(request)
    }
  }
}

interface Counted { readonly max: number, readonly remaining: number, readonly ttlInSeconds: number, readonly windowMs: number }

function tell (request: FastifyRequest, reply: FastifyReply, { max, remaining, ttlInSeconds, windowMs }: Counted): void {
  request.rate = { limit: max, remaining, resetSeconds: ttlInSeconds }
  reply.headers({
    'x-ratelimit-limit': max,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': ttlInSeconds,
    // https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
    'ratelimit-policy': `"minute";q=${max};w=${Math.ceil(windowMs / 1_000)}`,
    ratelimit: `"minute";r=${remaining};t=${ttlInSeconds}`
  })
}
