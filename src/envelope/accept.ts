import type {} from '@fastify/accepts'
import type { FastifyRequest } from 'fastify'
import { Failure } from './failures.js'

/** The media types that answers come in; plain JSON is what a client gets that has no preference. */
const mediaTypes = ['application/json', 'application/fhir+json'] as const

/** What a client may add to a media type; all of it is true of every answer. */
const parameters = '; charset=utf-8; fhirVersion=4.0'

/**
 * The media type that the client would rather have, of those that the route answers in.
 * @throws {Failure} NOT_ACCEPTABLE
 */
export function preferredType (request: FastifyRequest): string {
  const types: readonly string[] = request.routeOptions.config.mediaTypes ?? mediaTypes
  const preferred = acceptableType(request, types)
  if (preferred === undefined) throw new Failure('NOT_ACCEPTABLE', { message: `Accept ${types.join(' or ')}.` })
  return preferred
}

/** The same; undefined where the client wants none of them. */
export function acceptableType<T extends string = typeof mediaTypes[number]> (request: FastifyRequest, types: readonly T[] = mediaTypes as readonly string[] as readonly T[]): T | undefined {
  if (request.headers.accept === undefined) return types[0]
  const preferred = request.accepts().type(types.map(type => type + parameters))
  return types.find(type => type + parameters === preferred)
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the answers of a route come in, the first one unless the client would rather have another; {@link mediaTypes} unless told. */
    readonly mediaTypes?: readonly string[]
  }
}
