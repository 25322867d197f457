import type { FastifyRequest } from 'fastify'
import { Failure } from '../envelope/failures.js'
import type {} from './authenticate.js'
import type { Caller, Scope } from './caller.js'

/** What a request does to the data, whatever its method is. */
export type Effect = Exclude<Scope, '*'>

/** The effect of a request on a simple resource; a method that is not known to read counts as a write. */
export function effectOf (method: string): Effect {
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write'
}

/** Whether a key with these scopes may do this. */
export function hasScope (granted: readonly Scope[], effect: Effect): boolean {
  return granted.includes('*') || granted.includes(effect)
}

/**
 * Refuses what the caller's key was not made for, before anything is looked up.
 * @throws {Failure} INSUFFICIENT_SCOPE
 */
export function requireScope (caller: Caller, effect: Effect): void {
  if (hasScope(caller.scopes, effect)) return
  throw new Failure('INSUFFICIENT_SCOPE', { message: `Use a key with the scope ${effect}, which this request needs.` })
}

/**
 * Refuses a request that its key was not made for, as far as that can be told before anything is looked up.
 * @throws {Failure} INSUFFICIENT_SCOPE
 */
export function requireScopeForType ({ caller, method, routeOptions }: FastifyRequest): void {
  const effect = routeOptions.config.effect ?? effectOf(method)
  if (effect !== 'of the record') requireScope(caller, effect)
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * What a route does, where its method does not tell: a kick-off of an export is a POST that reads. Of some, only
     * the record tells, and the route itself looks.
     */
    readonly effect?: Effect | 'of the record'
  }
}
