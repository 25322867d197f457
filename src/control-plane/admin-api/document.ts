import {
  publicFailures,
  buildResponses,
  envelopeSchemas,
  headerComponents,
  buildSharedResponses,
  type JsonSchema
} from '../../envelope/openapi-responses.js'
import type { FailureCode } from '../../envelope/failures.js'
import { getSuccessStatus, type NamedOperation } from './operation.js'
import { operations } from './operations.js'

const tokenFailures: readonly FailureCode[] = [...publicFailures, 'UNAUTHORIZED', 'INSUFFICIENT_SCOPE']
const idFailures: readonly FailureCode[] = ['NOT_FOUND']
const bodyFailures: readonly FailureCode[] = [
  'INVALID_JSON',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'VALIDATION_ERROR'
]
const changeFailures: readonly FailureCode[] = ['VALIDATION_ERROR', 'CONFLICT']

const used = new Set([...tokenFailures, ...idFailures, ...bodyFailures, ...changeFailures])

/**
 * The OpenAPI 3.1 document of the management API, derived from its operations: https://spec.openapis.org/oas/v3.1.1
 */
export function buildManagementDocument (
  { version, url }: { readonly version: string, readonly url: string }
): JsonSchema {
  const { Meta, Issue, Failure, Referrers } = envelopeSchemas
  const { NotModified, Deleted, ...failures } = buildSharedResponses(used)
  return {
    openapi: '3.1.1',
    info: {
      title: 'clinigate management',
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description
    },
    servers: [{ url: `${url}/control/v1` }],
    security: [{ token: [] }],
    paths: buildPaths(),
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A management token from the dashboard: `cg_control_…`' }
      },
      headers: { 'Retry-After': headerComponents['Retry-After'] },
      responses: failures,
      schemas: { Meta, Issue, Failure, Referrers }
    }
  }
}

const description = `Manage organizations, keys, people, tokens and gateways, and read the audit trail: what the dashboard does, with the same permissions.

A token acts as an operator, or as an admin or viewer of one organization. Data of other organizations is not found. A secret is shown only in the response that creates it.`

function buildPaths (): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const operation of operations) {
    const path = operation.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describeOperation(operation) }
  }
  return paths
}

function describeOperation (operation: NamedOperation): JsonSchema {
  const { id, method, path, summary, body, responseSchema: response } = operation
  const failures = [
    ...tokenFailures,
    ...(path.includes(':') ? idFailures : []),
    ...(method === 'GET' ? [] : changeFailures),
    ...(body ? bodyFailures : [])
  ]
  return {
    operationId: id,
    summary,
    parameters: listParameters(operation),
    ...(body ? { requestBody: { required: true, content: { 'application/json': { schema: body } } } } : {}),
    responses: buildResponses(
      { status: getSuccessStatus(operation), description: 'Done.', data: response as JsonSchema },
      [...new Set(failures)]
    )
  }
}

function listParameters ({ path, query }: NamedOperation): JsonSchema[] {
  const ids = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' }
  }))
  const requested = Object.entries(
    (query as { properties?: Record<string, JsonSchema> } | undefined)?.properties ?? {}
  ).map(([name, schema]) => ({ name, in: 'query', description: schema.description, schema }))
  return [...ids, ...requested]
}
