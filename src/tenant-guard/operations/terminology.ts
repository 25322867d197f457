import type { BackendResponse, ReadRequest } from '../../backends/backend.js'
import { toTransportError } from '../../backends/exchange.js'
import { checkResponse, toTransportFailure } from '../../backends/failures.js'
import type { Upstream } from '../../backends/upstream.js'
import { Failure } from '../../envelope/failures.js'
import { printJson } from '../../json/json.js'
import { toFailureCause, parseCheckedJson, unexpectedResponse, type TenantContext } from '../tenant-context.js'
import type { FhirResponse } from '../fhir-response.js'
import type { Terminology } from '../interaction.js'
import { parseIssues } from './backend-issues.js'
import { rewriteUrlsInText } from '../public-urls.js'
import { encodeParameters } from '../restrict.js'
import { terminologyOperations, type ParameterForm } from './terminology-operations.js'
import { isNotOffered } from './validate.js'

declare const guarded: unique symbol

/**
 * A request that a proxy may forward to a datastore, built from the parsed request, and the filter for its response.
 * Only the guard creates one.
 */
export interface TerminologyRequest {
  readonly [guarded]: true
  readonly upstream: Upstream
  readonly method: 'GET' | 'POST'
  /** From the host on, without the query. */
  readonly path: string
  readonly query: string
  /** All of them but those that the datastore's connection adds: none of the client's is forwarded. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /**
   * Converts a response to the part of it that the client may see.
   * @throws {Failure}
   */
  readonly shown: (response: BackendResponse) => FhirResponse
  /** The client's error for an exchange without a complete response. */
  readonly broken: (error: Error) => unknown
}

/**
 * The datastore request of a terminology operation, which no tenant owns: by URLs and codes only, so it can name no
 * tenant's record.
 * @throws {Failure} METHOD_NOT_ALLOWED for an operation or parameter that is not on the list
 */
export function buildTerminologyRequest (context: TenantContext, requested: Terminology): TerminologyRequest {
  const { backend: { upstream }, requestId } = context
  const request = buildRequest(requested)
  const headers: Record<string, string> = {
    accept: 'application/fhir+json',
    ...request.body !== undefined && { 'content-type': 'application/fhir+json; charset=utf-8' },
    ...requestId !== undefined && { 'x-request-id': requestId }
  }
  return {
    upstream,
    ...request,
    path: `${upstream.basePath}/${requested.type}/${requested.operation}`,
    headers,
    shown: response => toClientResponse(context, requested, response),
    broken: error => error instanceof Failure ? error : toTransportFailure(readOnly, toTransportError(error))
  } satisfies Omit<TerminologyRequest, typeof guarded> as TerminologyRequest
}

/** The operation changes nothing, with any method. */
const readOnly: ReadRequest = { method: 'GET', path: '' }

/** Longer request lines are refused by some servers. */
const maxQuery = 6_000

function buildRequest ({
  type,
  operation,
  parameters
}: Terminology): Pick<TerminologyRequest, 'method' | 'query' | 'body'> {
  const name = `${type}/${operation}`
  const forms = Object.hasOwn(terminologyOperations, name) ? terminologyOperations[name]!.parameters : {}
  if (!parameters.every(parameter => Object.hasOwn(forms, parameter.name))) {
    throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: '' } })
  }
  const simple = parameters.flatMap(({ name, value }) => (typeof value === 'string' ? [[name, value] as const] : []))
  const query = encodeParameters(simple)
  if (simple.length === parameters.length && query.length <= maxQuery) return { method: 'GET', query }
  const parameter = parameters.map(({ name, value }) => ({
    name,
    [toValueMember(forms[name]!)]: typeof value === 'string' ? parseValue(forms[name]!, value) : value
  }))
  return { method: 'POST', query: '', body: printJson({ resourceType: 'Parameters', parameter }) }
}

const toValueMember = (form: ParameterForm): string => `value${form[0]!.toUpperCase()}${form.slice(1)}`

function parseValue (form: ParameterForm, text: string): string | number | boolean {
  if (form === 'boolean') return text === 'true'
  return form === 'integer' ? Number(text) : text
}

function toClientResponse (
  context: TenantContext, { type, operation }: Terminology, response: BackendResponse
): FhirResponse {
  const failure = checkResponse(readOnly, response) ?? findFailure(context, response)
  if (failure !== undefined) throw failure
  const { resourceType } = Object(parseCheckedJson(response)) as { resourceType?: unknown }
  if (resourceType !== terminologyOperations[`${type}/${operation}`]!.resultType) {
    throw unexpectedResponse(response, 'a terminology operation was not answered')
  }
  return { status: 200, body: rewriteUrlsInText(context, response) }
}

function findFailure (context: TenantContext, response: BackendResponse): Failure | undefined {
  const { status } = response
  if (status === 200) return undefined
  const cause = toFailureCause(response)
  if (status === 404) {
    return new Failure('NOT_FOUND', {
      message: 'The datastore has no such code, code system, value set or concept map.',
      cause
    })
  }
  if (isNotOffered(response, parseIssues(context, response))) {
    return new Failure('NOT_IMPLEMENTED', { message: 'The datastore does not support this operation.', cause })
  }
  if (status === 400 || status === 412 || status === 422) {
    return new Failure('BAD_REQUEST', { message: 'The datastore rejected this request.', cause })
  }
  return unexpectedResponse(response, 'a terminology operation was not answered')
}
