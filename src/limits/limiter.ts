import rateLimit, { type CreateRateLimitOptions, type RateLimitPluginOptions } from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'

/** A store for a limiter, as `@fastify/rate-limit` makes it. */
export type RateLimitStoreClass = NonNullable<RateLimitPluginOptions['store']>

/** Counts requests in fixed time windows. */
export type Limiter = ReturnType<FastifyInstance['createRateLimit']>

/** A limiter with its own store. The plugin has one store per scope, so each limiter gets a scope. */
export async function createLimiter (
  app: FastifyInstance,
  store: RateLimitPluginOptions,
  options: CreateRateLimitOptions
): Promise<Limiter> {
  let made: Limiter | undefined
  await app.register(async scope => {
    await scope.register(rateLimit, { global: false, ...store })
    made = scope.createRateLimit(options)
  })
  return made!
}
