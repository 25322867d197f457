import type { FastifyRequest } from 'fastify'
import { Failure } from '../envelope/failures.js'
import { getHeaderValues } from '../envelope/headers.js'

/**
 * HTTP/1.1 requires exactly one Host; with none or two, an intermediate proxy may have read a different request than
 * this one.
 * @throws {Failure} BAD_REQUEST
 */
export function requireSingleHostHeader ({ raw }: Pick<FastifyRequest, 'raw'>): void {
  const hosts = getHeaderValues(raw.rawHeaders, 'host').length
  if (hosts !== 1 && !(hosts === 0 && raw.httpVersion === '1.0')) {
    throw new Failure('BAD_REQUEST', { message: 'Send one Host header.' })
  }
}

const overrides = ['x-http-method-override', 'x-http-method', 'x-method-override']

/**
 * Refuses method override headers, with which some proxies and frameworks would turn a POST into a DELETE.
 * @throws {Failure} METHOD_OVERRIDE_REJECTED
 */
export function refuseMethodOverride ({ headers }: Pick<FastifyRequest, 'headers'>): void {
  if (overrides.some(name => headers[name] !== undefined)) throw new Failure('METHOD_OVERRIDE_REJECTED')
}
