import type { FastifyInstance } from 'fastify'
import { preferredType } from '../envelope/accept.js'
import { printJson } from '../json.js'

/** `capabilityStatement` says what a client can really do here: http://hl7.org/fhir/R4/capabilitystatement.html */
export interface MetadataOptions { readonly capabilityStatement: () => unknown }

/** The route `/v1/metadata`: in the envelope, or bare for a client that would rather have FHIR. */
export async function metadata (scope: FastifyInstance, { capabilityStatement }: MetadataOptions): Promise<void> {
  scope.get('/v1/metadata', async (request, reply) => {
    reply.header('vary', 'accept')
    if (preferredType(request) === 'application/json') return capabilityStatement()
    return await reply.type('application/fhir+json; charset=utf-8').send(printJson(capabilityStatement()))
  })
}
