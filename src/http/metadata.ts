import type { FastifyInstance } from 'fastify'
import { requireAcceptableType } from '../envelope/accept.js'
import { handleFhirError } from '../envelope/error-handlers.js'
import { Failure } from '../envelope/failures.js'
import {
  describeRoute, buildEnvelopeSchema, buildFailureResponses, publicFailures
} from '../envelope/openapi-responses.js'
import { fhirType } from '../envelope/operation-outcome.js'
import { parseQuery, getRawQuery, invalidParameter } from '../envelope/query.js'
import { sendJson } from '../envelope/reply.js'
import { ServedDocument } from '../envelope/served-document.js'
import { withoutFormat } from '../api/passthrough/fhir-request.js'
import type { Offered } from '../tenant-guard/capabilities.js'

/** The sources of the capability statements: http://hl7.org/fhir/R4/capabilitystatement.html */
export interface MetadataOptions {
  /** Of all that is below `/v1`. */
  readonly capabilityStatement: (offered: Offered) => unknown
  /** Of raw FHIR alone, where a FHIR client looks for it. */
  readonly fhirStatement: (offered: Offered) => unknown
  /** The current common capabilities of all shared datastores: the same object until they change. */
  readonly offered: () => Promise<Offered>
}

const statement = {
  type: 'object',
  description: 'A CapabilityStatement: http://hl7.org/fhir/R4/capabilitystatement.html',
  properties: { resourceType: { type: 'string', const: 'CapabilityStatement' } },
  required: ['resourceType']
}

const metadataRoute = describeRoute({
  operationId: 'readMetadata',
  tags: ['service'],
  security: [],
  summary: 'Read the FHIR CapabilityStatement',
  responses: {
    200: {
      description:
        'The CapabilityStatement, in the envelope, or without it if the client prefers FHIR by `Accept` or `_format`.',
      content: { 'application/json': { schema: buildEnvelopeSchema(statement) }, 'application/fhir+json': { schema: statement } }
    },
    ...buildFailureResponses([...publicFailures, 'NOT_ACCEPTABLE'])
  }
})

/**
 * `/v1/metadata`, in the envelope or bare for a client that prefers FHIR by `Accept` or FHIR's own `_format`, and
 * `/v1/fhir/metadata`.
 */
export async function metadata (
  scope: FastifyInstance,
  { capabilityStatement, fhirStatement, offered }: MetadataOptions
): Promise<void> {
  const full = new ServedDocument(capabilityStatement, offered)
  const vary = 'accept, accept-encoding'
  scope.get('/v1/metadata', metadataRoute, async (request, reply) => {
    const query = parseQuery(getRawQuery(request.raw.url))
    const isRequestedAsFhir = withoutFormat(query).length < query.length
    if (isRequestedAsFhir || requireAcceptableType(request) === 'application/fhir+json') {
      return await full.send(request, reply, { type: fhirType, vary })
    }
    return await sendJson(reply.header('vary', vary), [Buffer.from(await full.text())])
  })
  await scope.register(fhirMetadata, { document: new ServedDocument(fhirStatement, offered) })
}

/** Its methods are all here, since below it everything else needs a key. */
async function fhirMetadata (
  scope: FastifyInstance,
  { document }: { readonly document: ServedDocument<Offered> }
): Promise<void> {
  const url = '/v1/fhir/metadata'
  scope.setErrorHandler(handleFhirError)
  scope.get(url, async (request, reply) => {
    requireAcceptableType(request)
    requireFullStatement(withoutFormat(parseQuery(getRawQuery(request.raw.url))))
    return await document.send(request, reply, { type: fhirType })
  })
  scope.route({
    method: ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'],
    url,
    handler: async () => {
      throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: 'GET, HEAD' } })
    }
  })
}

/**
 * `mode` requests other documents, which a client must not take this one for:
 * http://hl7.org/fhir/R4/http.html#capabilities
 */
function requireFullStatement (query: ReadonlyArray<readonly [name: string, value: string]>): void {
  if (query.some(([name, value]) => name === 'mode' && value !== 'full')) {
    throw invalidParameter('mode', 'expected full; no other mode is supported')
  }
}
