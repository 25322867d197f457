import type { FastifyRequest } from 'fastify'
import { Failure } from '../envelope/failures.js'
import type {} from './authenticate.js'
import type { Caller, Scope } from './caller.js'

/** The effect of a request on the data, whatever its method is. */
export type Effect = Exclude<Scope, '*' | 'webhooks'>

/** The effect of a request on a simple resource; a method that is not known to read counts as a write. */
export function effectOf (method: string): Effect {
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write'
}

/** Whether a key with these scopes permits this effect. */
export function hasScope (granted: readonly Scope[], effect: Effect): boolean {
  return granted.includes('*') || granted.includes(effect)
}

/**
 * Refuses an effect that the caller's key does not permit, before anything is looked up.
 * @throws {Failure} INSUFFICIENT_SCOPE
 */
export function requireScope (caller: Caller, effect: Effect): void {
  if (hasScope(caller.scopes, effect)) return
  throw new Failure('INSUFFICIENT_SCOPE', { message: `Use a key with the scope ${effect}, which this request needs.` })
}

/**
 * Refuses what only a key may do that may do everything: the deletion of evidence.
 * @throws {Failure} INSUFFICIENT_SCOPE
 */
export function requireEveryScope ({ scopes }: Caller): void {
  if (scopes.includes('*')) return
  throw new Failure('INSUFFICIENT_SCOPE', {
    message: 'Use a key with the scope *, which deleting a record of this type needs.'
  })
}

/**
 * Refuses a key that may not manage webhooks, whatever records it may read.
 * @throws {Failure} INSUFFICIENT_SCOPE
 */
export function requireWebhookScope ({ scopes }: Caller): void {
  if (scopes.includes('*') || scopes.includes('webhooks')) return
  throw new Failure('INSUFFICIENT_SCOPE', { message: 'Use a key with the scope webhooks, which this request needs.' })
}

/**
 * Refuses a request that its key does not permit, as far as that is known before anything is looked up.
 * @throws {Failure} INSUFFICIENT_SCOPE
 */
export function requireScopeForType ({ caller, method, routeOptions }: FastifyRequest): void {
  const effect = routeOptions.config.effect ?? effectOf(method)
  if (effect !== 'of the record') requireScope(caller, effect)
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The effect of a route, where its method does not show it: a kick-off of an export is a POST that reads. For some
     * routes it depends on the record, and the route itself checks it.
     */
    readonly effect?: Effect | 'of the record'
  }
}
