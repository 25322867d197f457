import type {} from '@fastify/accepts'
import type { FastifyRequest } from 'fastify'
import { Failure } from './failures.js'

/** The media types of responses. The first is the default. */
const mediaTypes = ['application/json', 'application/fhir+json'] as const

/** The parameters that a client may add to a media type. They apply to every response. */
const parameters = '; charset=utf-8; fhirVersion=4.0'

/**
 * The media type of the route that the client prefers.
 * @throws {Failure} NOT_ACCEPTABLE
 */
export function preferredType (request: FastifyRequest): string {
  const types: readonly string[] = request.routeOptions.config.mediaTypes ?? mediaTypes
  const preferred = acceptableType(request, types)
  if (preferred === undefined) throw new Failure('NOT_ACCEPTABLE', { message: `Accept ${types.join(' or ')}.` })
  return preferred
}

/** The same, or undefined if the client accepts none of them. */
export function acceptableType<T extends string = typeof mediaTypes[number]> (request: FastifyRequest, types: readonly T[] = mediaTypes as readonly string[] as readonly T[]): T | undefined {
  if (request.headers.accept === undefined) return types[0]
  const preferred = request.accepts().type(types.map(type => type + parameters))
  return types.find(type => type + parameters === preferred)
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The media types of a route's responses; the first is the default. If absent, {@link mediaTypes}. */
    readonly mediaTypes?: readonly string[]
  }
}
