import type { FastifyRequest } from 'fastify'
import { Failure } from './failures.js'

const overrides = ['x-http-method-override', 'x-http-method', 'x-method-override']

/**
 * A request means the method it has: some proxies and frameworks would make a DELETE of a POST that carries such a header.
 * @throws {Failure} METHOD_OVERRIDE_REJECTED
 */
export function refuseMethodOverride ({ headers }: Pick<FastifyRequest, 'headers'>): void {
  if (overrides.some(name => headers[name] !== undefined)) throw new Failure('METHOD_OVERRIDE_REJECTED')
}
