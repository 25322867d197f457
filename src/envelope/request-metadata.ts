import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Issue } from './failures.js'

/**
 * The state of the per-minute limit after this request. `resetSeconds` is the time until the window of `windowSeconds`
 * ends.
 */
interface Rate {
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
  readonly windowSeconds: number
}

/** Adds the request's id and time of arrival to every response, as headers and for the envelope. */
export const identity = fp<{ readonly now: () => Date }>(async (app, { now }) => {
  app.decorateRequest('arrivedAt', '')
  app.decorateRequest('rate', undefined)
  app.decorateRequest('warnings', undefined)
  app.addHook('onRequest', (request, reply, done) => {
    setRequestMetadata(request, reply, now())
    done()
  })
}, { name: 'identity', fastify: '5.x' })

/** The same for a request that does not reach a hook. */
export function setRequestMetadata (request: FastifyRequest, reply: FastifyReply, now: Date): void {
  request.arrivedAt = now.toISOString()
  reply.headers({ 'x-request-id': request.id, 'x-timestamp': request.arrivedAt, 'x-content-type-options': 'nosniff' })
}

declare module 'fastify' {
  interface FastifyRequest {
    /** When the request arrived, ISO 8601. The same as in the header x-timestamp and in `meta`. */
    arrivedAt: string
    /** Set by the per-minute limit. Undefined if there is no limit. */
    rate: Rate | undefined
    /** The warnings in the response, set by the handler. */
    warnings: readonly Issue[] | undefined
  }
}
