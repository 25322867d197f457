import type { FastifyInstance } from 'fastify'
import { preferredType } from '../envelope/accept.js'
import { printJson } from '../json.js'

export interface MetadataOptions {
  /** What a client can really do here: http://hl7.org/fhir/R4/capabilitystatement.html. Asked for at most once, when a client wants to know. */
  readonly capabilityStatement: () => unknown
}

/** The route `/v1/metadata`: in the envelope, or bare for a client that would rather have FHIR. */
export async function metadata (scope: FastifyInstance, { capabilityStatement }: MetadataOptions): Promise<void> {
  let made: unknown
  const statement = (): unknown => (made ??= capabilityStatement())
  scope.get('/v1/metadata', async (request, reply) => {
    reply.header('vary', 'accept')
    if (preferredType(request) === 'application/json') return statement()
    return await reply.type('application/fhir+json; charset=utf-8').send(printJson(statement()))
  })
}
