import type {} from '@fastify/accepts'
import type { FastifyRequest } from 'fastify'
import { Failure } from './failures.js'

/** The media types that answers come in; plain JSON is what a client gets that has no preference. */
export const mediaTypes = ['application/json', 'application/fhir+json'] as const

/**
 * The media type that the client would rather have.
 * @throws {Failure} NOT_ACCEPTABLE
 */
export function preferredType (request: FastifyRequest): typeof mediaTypes[number] {
  if (request.headers.accept === undefined) return mediaTypes[0]
  const preferred = request.accepts().type([...mediaTypes])
  if (preferred === false) throw new Failure('NOT_ACCEPTABLE')
  return preferred as typeof mediaTypes[number]
}
