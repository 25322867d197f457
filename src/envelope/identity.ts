import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Issue } from './failures.js'

/** The state of the per-minute limit after this request; `resetSeconds` is the time until the window of `windowSeconds` ends. */
interface Rate { readonly limit: number, readonly remaining: number, readonly resetSeconds: number, readonly windowSeconds: number }

/** Gives every answer its identity, in headers and for the envelope: the request's id and the time at which it came in. */
export const identity = fp<{ readonly now: () => Date }>(async (app, { now }) => {
  app.decorateRequest('arrivedAt', '')
  app.decorateRequest('rate', undefined)
  app.decorateRequest('warnings', undefined)
  app.addHook('onRequest', async (request, reply) => identify(request, reply, now()))
}, { name: 'identity', fastify: '5.x' })

/** The same for a request that never reaches a hook. */
export function identify (request: FastifyRequest, reply: FastifyReply, now: Date): void {
  request.arrivedAt = now.toISOString()
  reply.headers({ 'x-request-id': request.id, 'x-timestamp': request.arrivedAt, 'x-content-type-options': 'nosniff' })
}

declare module 'fastify' {
  interface FastifyRequest {
    /** When the request came in, ISO 8601; the same in the header x-timestamp and in `meta`. */
    arrivedAt: string
    /** Set by the per-minute limit; undefined where none applies. */
    rate: Rate | undefined
    /** What the answer warns of; set by who did the work. */
    warnings: readonly Issue[] | undefined
  }
}
