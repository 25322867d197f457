import { printJson } from '../json/json.js'
import { catalog, Failure, fieldIssue, type FailureCode } from './failures.js'

/** An object of JSON Schema or OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** A reference to a schema of the document. */
export const referTo = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** A route as the OpenAPI document describes it. */
interface RouteDescription {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  /** Empty for a route that takes no key; absent for all others. */
  readonly security?: readonly []
  /** The schemas of the parameters in the path, in the query and among the headers, by name. */
  readonly path?: JsonSchema
  readonly query?: JsonSchema
  readonly headers?: JsonSchema
  /** The schema of the body by its media type. */
  readonly body?: JsonSchema
  readonly responses: JsonSchema
}

/**
 * The options of a route that describe it, which `@fastify/swagger` collects. They describe and nothing else: what is
 * sent is checked by the handler, with messages that say what to do, and no member of a response is left out for lack
 * of a schema.
 */
export function describeRoute ({ path, query, headers, body, responses, ...operation }: RouteDescription) {
  return {
    schema: {
      ...operation,
      ...path && { params: { type: 'object', properties: path, required: Object.keys(path) } },
      // Several values of one parameter are joined by commas.
      ...query && { querystring: { type: 'object', properties: query, explode: false } },
      ...headers && { headers: { type: 'object', properties: headers } },
      ...body && { body: { content: body } },
      response: responses
    },
    validatorCompiler: () => () => true,
    serializerCompiler: () => printJson
  }
}

/** The failures of any request, with or without a key. */
export const publicFailures: readonly FailureCode[] = ['BAD_REQUEST', 'METHOD_OVERRIDE_REJECTED', 'INTERNAL_ERROR']

/** The failures of any request with a key. */
export const commonFailures: readonly FailureCode[] = [
  ...publicFailures,
  'UNAUTHORIZED',
  'INVALID_KEY_FORMAT',
  'INVALID_KEY',
  'KEY_REVOKED',
  'KEY_EXPIRED',
  'INSUFFICIENT_SCOPE',
  'NOT_ACCEPTABLE',
  'RATE_LIMITED',
  'MONTHLY_QUOTA_EXCEEDED',
  'SANDBOX_QUOTA_EXCEEDED',
  'NOT_IMPLEMENTED',
  'BACKEND_ERROR',
  'BACKEND_UNAVAILABLE',
  'BACKEND_TIMEOUT'
]

/** The failures of a request with a body. */
export const bodyFailures: readonly FailureCode[] = [
  'INVALID_JSON',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'VALIDATION_ERROR',
  'CONFLICT'
]

interface Success {
  readonly status: 200 | 201 | 202
  readonly description: string
  readonly data: JsonSchema
  readonly headers?: JsonSchema
}

/** The responses of an operation by status: its success and its failures. */
export function buildResponses (
  { status, description, data, headers }: Success,
  failures: readonly FailureCode[]
): JsonSchema {
  return {
    [status]: {
      description,
      ...(headers && { headers }),
      content: { 'application/json': { schema: buildEnvelopeSchema(data) } }
    },
    ...buildFailureResponses(failures)
  }
}

/** The responses of failures, by status. */
export function buildFailureResponses (codes: readonly FailureCode[]): JsonSchema {
  const statuses = [...new Set(codes.map(code => catalog[code].status))].sort()
  return Object.fromEntries(
    statuses.map(status => [status, { $ref: `#/components/responses/${toResponseName(status)}` }])
  )
}

/** The responses that operations refer to: 304, deletion, and one for each error status with all of its codes. */
export function buildSharedResponses (codes: ReadonlySet<FailureCode>): Record<string, JsonSchema> {
  const statuses = [...new Set([...codes].map(code => catalog[code].status))].sort()
  const failures = statuses.map(status => [
    toResponseName(status),
    buildFailureResponse([...codes].filter(code => catalog[code].status === status))
  ])
  return {
    NotModified: { description: 'You have the current version.', headers: { ETag: referToHeader('ETag') } },
    Deleted: {
      description: 'Deleted.',
      content: { 'application/json': { schema: buildEnvelopeSchema(referTo('Deleted')) } }
    },
    ...Object.fromEntries(failures)
  }
}

/** `Failure404` */
const toResponseName = (status: number): string => `Failure${status}`

const exampleMeta = {
  requestId: '0199a3c4-7e2b-7c11-9d5f-3b0f6d0c8e21',
  timestamp: '2026-03-14T09:30:00.000Z',
  rateLimitTotal: 1000,
  rateLimitRemaining: 999,
  rateLimitReset: 60
}

/** The schemas of the envelope. */
export const envelopeSchemas: Readonly<Record<string, JsonSchema>> = {
  Meta: {
    type: 'object',
    description: 'Metadata of the response. The three limits are null if none applies.',
    properties: {
      requestId: { type: 'string' },
      timestamp: { type: 'string', format: 'date-time' },
      status: { type: 'integer' },
      rateLimitTotal: { type: ['integer', 'null'] },
      rateLimitRemaining: { type: ['integer', 'null'] },
      rateLimitReset: { type: ['integer', 'null'], description: 'Seconds.' },
      warnings: {
        type: 'array',
        items: referTo('Issue'),
        description: 'Warnings about a created or updated record, about parameters, and about what may change the meaning of a record that was read and is not shown. Absent if there are none.'
      }
    },
    required: ['requestId', 'timestamp', 'status', 'rateLimitTotal', 'rateLimitRemaining', 'rateLimitReset'],
    examples: [{ ...exampleMeta, status: 200 }]
  },
  Issue: {
    type: 'object',
    description: 'One problem to correct; `expression` names the fields.',
    properties: {
      severity: { type: 'string', enum: ['error', 'warning'] },
      code: { type: 'string' },
      diagnostics: { type: 'string' },
      expression: { type: 'array', items: { type: 'string' } }
    },
    required: ['severity', 'code', 'diagnostics']
  },
  Failure: {
    type: 'object',
    properties: {
      data: { type: 'null' },
      error: { type: 'string' },
      code: { type: 'string', enum: Object.keys(catalog) },
      message: { type: 'string', description: 'What to do. Never contains a value that was sent or stored.' },
      issues: { type: 'array', items: referTo('Issue') },
      details: referTo('Referrers'),
      requestId: { type: 'string', description: 'As in `meta`.' },
      meta: referTo('Meta')
    },
    required: ['data', 'error', 'code', 'message', 'issues', 'requestId', 'meta']
  },
  Referrers: {
    type: 'object',
    description: 'What refers to a record that was to be deleted, and what refers to that, in an order in which they can be deleted.',
    properties: {
      referrers: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            type: { type: 'string', description: 'The FHIR R4 type.' },
            id: { type: 'string' },
            path: { type: 'string', description: 'Where to send its DELETE.' },
            cycle: {
              type: 'boolean',
              const: true,
              description: 'It and others refer to each other: delete them in one transaction of raw FHIR.'
            }
          },
          required: ['type', 'id', 'path']
        }
      },
      hasMore: { type: 'boolean', description: 'Whether there are others, to be listed once these are deleted.' }
    },
    required: ['referrers', 'hasMore']
  },
  Total: { type: 'integer', minimum: 0, description: 'The total number of matches.', examples: [1] },
  Cursor: { type: 'string', description: 'Cursor for the next page; absent on the last page.' },
  Deleted: {
    type: 'object',
    properties: { id: { type: 'string' }, deleted: { type: 'boolean', const: true } },
    required: ['id', 'deleted']
  }
}

/** The headers of responses, by name. */
export const headerComponents: Readonly<Record<string, JsonSchema>> = {
  ETag: { description: 'The version, for If-Match and If-None-Match.', schema: { type: 'string' } },
  IdempotentReplayed: {
    description: 'Present if an earlier request with the same Idempotency-Key did the work.',
    schema: { type: 'string', const: 'true' }
  },
  Location: { description: 'The path of the new record.', required: true, schema: { type: 'string' } },
  'Retry-After': {
    description: 'Seconds to wait before a retry; present if a retry may succeed.',
    schema: { type: 'integer', minimum: 0 }
  }
}

/** A reference to one of {@link headerComponents}. */
export const referToHeader = (name: string): JsonSchema => ({ $ref: `#/components/headers/${name}` })

/** A reference to one of the parameters of the document. */
export const referToParameter = (name: string): JsonSchema => ({ $ref: `#/components/parameters/${name}` })

/** The same content for several media types. */
export const buildContent = (types: readonly string[], content: JsonSchema): JsonSchema =>
  Object.fromEntries(types.map(type => [type, content]))

/** The schema of a search page. */
export const buildPageSchema = (item: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: {
    data: { type: 'array', items: item },
    total: referTo('Total'),
    cursor: referTo('Cursor'),
    hasMore: { type: 'boolean' }
  },
  required: ['data', 'hasMore']
})

/** The schema of the envelope of a success. */
export const buildEnvelopeSchema = (data: JsonSchema, others: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties: { ...others, data, meta: referTo('Meta') },
  required: [...Object.keys(others), 'data', 'meta']
})

const retryableStatuses: ReadonlySet<number> = new Set([409, 429, 503])

function buildFailureResponse (codes: readonly FailureCode[]): JsonSchema {
  return {
    description: codes.map(code => `\`${code}\`: ${catalog[code].remedy}`).join('\n\n'),
    ...(codes.some(code => retryableStatuses.has(catalog[code].status)) && {
      headers: { 'Retry-After': referToHeader('Retry-After') }
    }),
    content: { 'application/json': { schema: referTo('Failure'), example: buildFailureExample(codes[0]!) } }
  }
}

function buildFailureExample (code: FailureCode): JsonSchema {
  const { status, title, remedy } = catalog[code]
  const issues =
    code === 'VALIDATION_ERROR' ? [fieldIssue('birthDate', 'expected a date such as 1990-03-14, 1990-03 or 1990')] : []
  const { requestId } = exampleMeta
  const { message } = new Failure(code, issues.length > 0 ? { issues } : { message: remedy })
  return { data: null, error: title, code, message, issues, requestId, meta: { ...exampleMeta, status } }
}
