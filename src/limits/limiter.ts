import rateLimit, { type CreateRateLimitOptions, type RateLimitPluginOptions } from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'

/** Counts requests in windows of time. */
export type Limiter = ReturnType<FastifyInstance['createRateLimit']>

/** A limiter with a store of its own, which the plugin has one of in each scope. */
export async function limiter (app: FastifyInstance, store: RateLimitPluginOptions, options: CreateRateLimitOptions): Promise<Limiter> {
  let made: Limiter | undefined
  await app.register(async scope => {
    await scope.register(rateLimit, { global: false, ...store })
    made = scope.createRateLimit(options)
  })
  return made!
}
