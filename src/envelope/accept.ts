import type {} from '@fastify/accepts'
import type { FastifyRequest } from 'fastify'
import { Failure } from './failures.js'

/** The media types that answers come in; plain JSON is what a client gets that has no preference. */
export const mediaTypes = ['application/json', 'application/fhir+json'] as const

/** What a client may add to a media type; all of it is true of every answer. */
const parameters = '; charset=utf-8; fhirVersion=4.0'

/**
 * The media type that the client would rather have.
 * @throws {Failure} NOT_ACCEPTABLE
 */
export function preferredType (request: FastifyRequest): typeof mediaTypes[number] {
  const preferred = acceptableType(request)
  if (preferred === undefined) throw new Failure('NOT_ACCEPTABLE')
  return preferred
}

/** The same; undefined where the client wants none of them. */
export function acceptableType (request: FastifyRequest): typeof mediaTypes[number] | undefined {
  if (request.headers.accept === undefined) return mediaTypes[0]
  const preferred = request.accepts().type(mediaTypes.map(type => type + parameters))
  return mediaTypes.find(type => type + parameters === preferred)
}
