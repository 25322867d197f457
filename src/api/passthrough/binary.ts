import type { FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '../../envelope/failures.js'
import type { QueryPair } from '../../envelope/query.js'
import { readSingleHeader } from '../../envelope/headers.js'
import type { FhirElement, FhirResource } from '../../mappings/fhir.js'
import type { FhirRequest } from './fhir-request.js'

/** Content that is sent unchanged, and not as a resource. */
export interface Content { readonly bytes: Buffer, readonly type: string }

/**
 * Whether a read of a Binary requests its content, which R4 sends to a client that names no media type of FHIR:
 * http://hl7.org/fhir/R4/binary.html#rest
 */
export function acceptsRawBinary (
  { method, headers: { accept = '' } }: FastifyRequest,
  { path, query }: { readonly path: FhirRequest['path']; readonly query: readonly QueryPair[] }
): boolean {
  if (path.length !== 2 || path[0] !== 'Binary' || !(method === 'GET' || method === 'HEAD') || query.length > 0) {
    return false
  }
  return !accept.split(',').some(range => namesFhir.test(range))
}

const namesFhir = /^\s*application\/(?:fhir\+[a-z]+|json|(?:json|xml)\+fhir)\s*(?:;|$)/i

/**
 * The content of a Binary for a client that requested it.
 * @throws {Failure} NOT_ACCEPTABLE
 */
export function getBinaryContent (request: FastifyRequest, { contentType, data }: FhirElement): Content {
  const { accept = '' } = request.headers
  const type =
    typeof contentType === 'string' && mediaType.test(contentType) ? contentType : 'application/octet-stream'
  if (accept.trim() !== '' && request.accepts().type([type]) === false) {
    throw new Failure('NOT_ACCEPTABLE', {
      message: 'Accept the contentType of this Binary, or application/fhir+json for the resource.'
    })
  }
  return { type, bytes: Buffer.from(typeof data === 'string' ? data : '', 'base64') }
}

/** Content that any client may have stored must not run in a browser that shows it. */
export function sendContent (reply: FastifyReply, { type, bytes }: Content): FastifyReply {
  return reply
    .headers({ 'content-disposition': 'attachment', 'content-security-policy': "sandbox; default-src 'none'" })
    .type(type)
    .send(bytes)
}

/** A media type with its parameters, as a header can hold it. */
const mediaType =
  /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:\s*;\s*[\w.-]{1,64}=(?:[\w!#$&^.+-]{1,127}|"[\w !#$&^.+:/=?;,()@-]{0,127}"))*$/

/** Whether a body is the content of a Binary, and not the resource. */
export function isContent ({ method, headers }: FastifyRequest, path: FhirRequest['path']): boolean {
  const [type, id = '', ...more] = path
  if (
    type !== 'Binary' ||
    more.length > 0 ||
    !/^[A-Za-z0-9\-.]*$/.test(id) ||
    !(method === 'POST' || method === 'PUT')
  ) {
    return false
  }
  const sent = headers['content-type'] ?? ''
  return mediaType.test(sent.trim()) && !namesFhir.test(sent)
}

/**
 * The Binary of a body that is its content; the header X-Security-Context names the record that it belongs to, and is
 * checked like any reference.
 */
export function buildBinary ({ headers, raw }: FastifyRequest, content: Buffer): FhirResource {
  const reference = readSingleHeader(raw.rawHeaders, 'X-Security-Context')
  return {
    resourceType: 'Binary',
    contentType: headers['content-type']!.trim(),
    ...reference !== undefined && { securityContext: { reference } },
    data: content.toString('base64')
  }
}
