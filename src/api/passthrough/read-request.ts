import type { FastifyRequest } from 'fastify'
import { findAcceptableType, toMediaType } from '../../envelope/accept.js'
import { parseBody, requireUtf8, unsupportedMediaType } from '../../envelope/body.js'
import { hasOtherPrecondition } from '../../envelope/preconditions.js'
import { Failure } from '../../envelope/failures.js'
import { parseQuery, getRawQuery, type QueryPair } from '../../envelope/query.js'
import { readSingleHeader } from '../../envelope/headers.js'
import { acceptsRawBinary, buildBinary, isContent } from './binary.js'
import { readCriteria, readVersion, parsePathSegments, withoutFormat, type FhirRequest } from './fhir-request.js'
import { relativizeReferences } from '../../tenant-guard/writes/own-references.js'
import { parsePrefer } from './preferences.js'

/** Where raw FHIR is: its URL, and the path of the routes below which it begins. */
interface FhirLocation { readonly fhirBase: string, readonly prefix: string }

/**
 * The FHIR request in an HTTP request; nothing else of the HTTP request is forwarded.
 * @throws {Failure} NOT_FOUND, NOT_ACCEPTABLE, UNSUPPORTED_MEDIA_TYPE, INVALID_JSON, BAD_REQUEST
 */
export function readRequest (request: FastifyRequest, { fhirBase, prefix }: FhirLocation): FhirRequest {
  const { method, headers, raw } = request
  const path = parsePathSegments(raw.url!.split('?', 1)[0]!.slice(prefix.length))
  const query = parseQuery(getRawQuery(raw.url), maxValue)
  const { isLenient, returns } = parsePrefer(request)
  const form = path.at(-1) === '_search' && method === 'POST' ? readForm(request) : []
  const parameters = [...query, ...form]
  const wantsContent = acceptsRawBinary(request, { path, query: parameters })
  if (!wantsContent) requireJsonAccepted(request, parameters)
  return {
    method,
    path,
    query: withoutFormat(parameters),
    body: form.length > 0 ? undefined : readBody(request, path, fhirBase),
    ifMatch: readVersion(headers['if-match']),
    hasOtherPrecondition: hasOtherPrecondition(headers),
    ifNoneExist: readCriteria(readSingleHeader(raw.rawHeaders, 'If-None-Exist')),
    isLenient,
    showsWritten: returns === 'representation',
    ...wantsContent && { wantsContent },
    fhirBase
  }
}

/** The size of the request that holds values limits them. */
const maxValue = Infinity

function readForm ({ headers, body }: FastifyRequest): readonly QueryPair[] {
  const type = headers['content-type'] ?? ''
  if (!(body instanceof Buffer) || body.length === 0) return []
  requireUtf8(type)
  if (toMediaType(type) !== 'application/x-www-form-urlencoded') {
    throw new Failure('UNSUPPORTED_MEDIA_TYPE', { message: 'Send the search as application/x-www-form-urlencoded.' })
  }
  return parseQuery(body.toString(), maxValue)
}

const resourceTypes = new Set(['application/fhir+json', 'application/json'])
const patchTypes = new Set(['application/json-patch+json', 'application/json'])

function readBody (request: FastifyRequest, path: FhirRequest['path'], fhirBase: string): unknown {
  const { method, headers, body } = request
  if (!(body instanceof Buffer) || body.length === 0) return undefined
  if (isContent(request, path)) return relativizeReferences(buildBinary(request, body), fhirBase)
  const type = headers['content-type'] ?? ''
  const types = method === 'PATCH' ? patchTypes : resourceTypes
  if (!types.has(toMediaType(type))) throw unsupportedMediaType(types)
  requireUtf8(type)
  const value = parseBody(body)
  return mayHold(body, fhirBase) ? relativizeReferences(value, fhirBase) : value
}

/** Whether JSON may have a URL in a text, plain or escaped. Most JSON has none and need not be walked. */
function mayHold (json: Buffer, url: string): boolean {
  return json.includes(url) || json.includes('\\/') || json.includes('\\u')
}

/**
 * The parameter `_format` overrides the header: http://hl7.org/fhir/R4/http.html#mime-type
 * @throws {Failure} NOT_ACCEPTABLE
 */
function requireJsonAccepted (request: FastifyRequest, parameters: readonly QueryPair[]): void {
  if (parameters.some(([name]) => name === '_format')) return
  if (findAcceptableType(request) === undefined) {
    throw new Failure('NOT_ACCEPTABLE', { message: 'Accept application/fhir+json.' })
  }
}
