import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { acceptableType } from '../envelope/accept.js'
import { parseBody, refuseEncoded, requireUtf8 } from '../envelope/body.js'
import { failureOf, fhirErrorHandler, notFoundHandler } from '../envelope/error-handlers.js'
import { Failure } from '../envelope/failures.js'
import { pairsIn, queryOf, type QueryPair } from '../envelope/query.js'
import type { Caller } from '../keys/caller.js'
import { requireScope } from '../keys/scopes.js'
import type { Batch, BundleEntry, FhirInteraction } from '../tenant-guard/fhir-interaction.js'
import type { GuardedStore } from '../tenant-guard/guard.js'
import { policy } from '../tenant-guard/policy.js'
import { sendAnswer } from './answer.js'
import { readCriteria, readVersion, segmentsOf, withoutFormat, type FhirRequest } from './fhir-request.js'
import { interactionOf } from './interaction-of.js'
import { withOwnReferences } from './own-references.js'
import { readPreferences } from './preferences.js'

export interface PassthroughOptions {
  /** The datastore of the request's caller, seen through the guard. */
  readonly storeFor: (request: FastifyRequest) => GuardedStore
  /** The gateway's own URL, before `/v1`. */
  readonly url: string
  /** The largest body of a request. */
  readonly bodyBytes: number
}

/** `/v1/fhir`: FHIR R4 as it is, without the envelope. Nothing of a request's bytes goes on; it is understood, decided on and built anew. */
export async function passthrough (scope: FastifyInstance, { storeFor, url, bodyBytes }: PassthroughOptions): Promise<void> {
  const fhirBase = `${url}/v1/fhir`
  scope.setErrorHandler(fhirErrorHandler)
  scope.setNotFoundHandler(notFoundHandler)
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: bodyBytes }, async (_: FastifyRequest, body: Buffer) => body)
  scope.addHook('onRequest', async request => refuseEncoded(request))
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const asked = readRequest(request, { fhirBase, prefix: scope.prefix })
    const interaction = allowed(request, interactionOf(asked))
    const answer = await storeFor(request).perform(interaction)
    return sendAnswer(reply, answer, { interaction, fhirBase })
  }
  for (const path of ['', '/*']) scope.route({ method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'], url: path, exposeHeadRoute: false, handler })
}

function readRequest (request: FastifyRequest, { fhirBase, prefix }: { readonly fhirBase: string, readonly prefix: string }): FhirRequest {
  const { method, headers, raw } = request
  const path = segmentsOf(raw.url!.split('?', 1)[0]!.slice(prefix.length))
  const query = pairsIn(queryOf(raw.url), longestValue)
  const { isLenient, returns } = readPreferences(request)
  const form = path.at(-1) === '_search' && method === 'POST' ? formIn(request) : []
  const parameters = [...query, ...form]
  requireJsonWanted(request, parameters)
  return {
    method,
    path,
    query: withoutFormat(parameters),
    body: form.length > 0 ? undefined : bodyIn(request, fhirBase),
    ifMatch: readVersion(headers['if-match']),
    ifNoneExist: readCriteria(headers['if-none-exist']?.toString()),
    isLenient,
    showsWritten: returns === 'representation',
    fhirBase
  }
}

/** Values are bounded by the size of what holds them. */
const longestValue = Infinity

function formIn ({ headers, body }: FastifyRequest): readonly QueryPair[] {
  const type = headers['content-type'] ?? ''
  if (!(body instanceof Buffer) || body.length === 0) return []
  requireUtf8(type)
  if (mediaTypeOf(type) !== 'application/x-www-form-urlencoded') throw new Failure('UNSUPPORTED_MEDIA_TYPE', { message: 'Send the search as application/x-www-form-urlencoded.' })
  return pairsIn(body.toString(), longestValue)
}

const resourceTypes = new Set(['application/fhir+json', 'application/json'])
const patchTypes = new Set(['application/json-patch+json', 'application/json'])

function bodyIn ({ method, headers, body }: FastifyRequest, fhirBase: string): unknown {
  if (!(body instanceof Buffer) || body.length === 0) return undefined
  const type = headers['content-type'] ?? ''
  const types = method === 'PATCH' ? patchTypes : resourceTypes
  if (!types.has(mediaTypeOf(type))) throw new Failure('UNSUPPORTED_MEDIA_TYPE', { message: 'Send application/fhir+json, or application/json-patch+json for a patch.' })
  requireUtf8(type)
  const value = parseBody(body)
  return body.includes(fhirBase) ? withOwnReferences(value, fhirBase) : value
}

const mediaTypeOf = (header: string): string => header.split(';', 1)[0]!.trim().toLowerCase()

/**
 * The parameter `_format` counts more than the header: http://hl7.org/fhir/R4/http.html#mime-type
 * @throws {Failure} NOT_ACCEPTABLE
 */
function requireJsonWanted (request: FastifyRequest, parameters: readonly QueryPair[]): void {
  if (parameters.some(([name]) => name === '_format')) return
  if (acceptableType(request) === undefined) throw new Failure('NOT_ACCEPTABLE', { message: 'Accept application/fhir+json.' })
}

/** @throws {Failure} INSUFFICIENT_SCOPE; of a batch only the entries are refused that need another scope */
function allowed ({ caller }: FastifyRequest, interaction: FhirInteraction): FhirInteraction {
  if (interaction.kind === 'batch') return { ...interaction, entries: interaction.entries.map(entry => 'failure' in entry ? entry : orRefused(caller, entry)) }
  const parts = interaction.kind === 'transaction' ? interaction.entries.map(entry => entry.interaction) : [interaction]
  for (const part of parts) requireScopes(caller, part)
  return interaction
}

function orRefused (caller: Caller, entry: BundleEntry): Batch['entries'][number] {
  try {
    requireScopes(caller, entry.interaction)
    return entry
  } catch (error) {
    return { failure: failureOf(error) }
  }
}

function requireScopes (caller: Caller, { kind }: FhirInteraction): void {
  const { scopes } = policy[kind]
  if (scopes !== 'entries') for (const scope of scopes) requireScope(caller, scope)
}
