import { catalog, type FailureCode } from '../envelope/failures.js'
import type { JsonSchema } from './schemas.js'

/** The failures that any request with a key may get. */
export const everywhere: readonly FailureCode[] = [
  'BAD_REQUEST', 'METHOD_OVERRIDE_REJECTED', 'UNAUTHORIZED', 'INVALID_KEY_FORMAT', 'INVALID_KEY', 'KEY_REVOKED', 'KEY_EXPIRED',
  'INSUFFICIENT_SCOPE', 'NOT_ACCEPTABLE', 'RATE_LIMITED', 'MONTHLY_QUOTA_EXCEEDED', 'SANDBOX_QUOTA_EXCEEDED',
  'INTERNAL_ERROR', 'BACKEND_ERROR', 'BACKEND_UNAVAILABLE', 'BACKEND_TIMEOUT'
]

/** The failures of a request with a body. */
export const withBody: readonly FailureCode[] = ['INVALID_JSON', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE', 'VALIDATION_ERROR', 'CONFLICT']

interface Success { readonly status: 200 | 201, readonly description: string, readonly data: JsonSchema, readonly headers?: JsonSchema }

/** The answers of an operation: its success, and the failures that it may have, by their statuses. */
export function answersOf ({ status, description, data, headers }: Success, failures: readonly FailureCode[]): JsonSchema {
  const statuses = [...new Set(failures.map(code => catalog[code].status))].sort()
  return {
    [status]: { description, headers: { ...commonHeaders, ...headers }, content: { 'application/json': { schema: enveloped(data) } } },
    ...Object.fromEntries(statuses.map(failed => [failed, { $ref: `#/components/responses/${nameOf(failed)}` }]))
  }
}

/** One answer a status, with all the codes that it may carry; operations refer to them. */
export function failureAnswers (): Record<string, JsonSchema> {
  const codes = Object.keys(catalog) as FailureCode[]
  const statuses = [...new Set(codes.map(code => catalog[code].status))]
  return Object.fromEntries(statuses.map(status => [nameOf(status), failureOf(codes.filter(code => catalog[code].status === status))]))
}

/** `Failure404` */
const nameOf = (status: number): string => `Failure${status}`

/** What every answer is wrapped in. */
export const envelopeSchemas: Readonly<Record<string, JsonSchema>> = {
  Meta: {
    type: 'object',
    description: 'What every answer says about itself; the three limits are null where none applies.',
    properties: {
      requestId: { type: 'string' },
      timestamp: { type: 'string', format: 'date-time' },
      status: { type: 'integer' },
      rateLimitTotal: { type: ['integer', 'null'] },
      rateLimitRemaining: { type: ['integer', 'null'] },
      rateLimitReset: { type: ['integer', 'null'], description: 'Seconds.' }
    },
    required: ['requestId', 'timestamp', 'status', 'rateLimitTotal', 'rateLimitRemaining', 'rateLimitReset']
  },
  Issue: {
    type: 'object',
    description: 'One thing to correct; expression names the fields.',
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
      message: { type: 'string', description: 'What to do. Never holds a value that was sent or stored.' },
      issues: { type: 'array', items: { $ref: '#/components/schemas/Issue' } },
      meta: { $ref: '#/components/schemas/Meta' }
    },
    required: ['data', 'error', 'code', 'message', 'issues', 'meta']
  },
  Deleted: {
    type: 'object',
    properties: { id: { type: 'string' }, deleted: { type: 'boolean', const: true } },
    required: ['id', 'deleted']
  }
}

/** The headers of every answer to a request with a key. */
export const headerComponents: Readonly<Record<string, JsonSchema>> = {
  'x-request-id': { description: 'The request’s id, yours when it was fit.', schema: { type: 'string' } },
  'X-RateLimit-Limit': { description: 'Requests a minute; absent where no limit applies.', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { description: 'Requests left in this window.', schema: { type: 'integer' } },
  'X-RateLimit-Reset': { description: 'Seconds until the window ends.', schema: { type: 'integer' } }
}

const commonHeaders = Object.fromEntries(Object.keys(headerComponents).map(name => [name, { $ref: `#/components/headers/${name}` }]))

/** The page of a search. */
export const pageOf = (item: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: {
    data: { type: 'array', items: item },
    total: { type: 'integer', description: 'All matches of the search.' },
    cursor: { type: 'string', description: 'For the next page; absent on the last.' },
    hasMore: { type: 'boolean' }
  },
  required: ['data', 'hasMore']
})

const enveloped = (data: JsonSchema): JsonSchema => ({
  type: 'object', properties: { data, meta: { $ref: '#/components/schemas/Meta' } }, required: ['data', 'meta']
})

function failureOf (codes: readonly FailureCode[]): JsonSchema {
  return {
    description: codes.map(code => `\`${code}\`: ${catalog[code].remedy}`).join('\n\n'),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } }
  }
}
