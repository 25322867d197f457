import type { FastifyRequest } from 'fastify'
import { Failure } from './failures.js'

const overrides = ['x-http-method-override', 'x-http-method', 'x-method-override']

/**
 * Refuses method override headers, with which some proxies and frameworks would turn a POST into a DELETE.
 * @throws {Failure} METHOD_OVERRIDE_REJECTED
 */
export function refuseMethodOverride ({ headers }: Pick<FastifyRequest, 'headers'>): void {
  if (overrides.some(name => headers[name] !== undefined)) throw new Failure('METHOD_OVERRIDE_REJECTED')
}
