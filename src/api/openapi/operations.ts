import { bodyTypes, plainTypes } from '../../envelope/body.js'
import type { FailureCode } from '../../envelope/failures.js'
import { idempotencyKey } from '../../idempotency/header.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { incompleteLists, listReferrers } from '../../mappings/relations.js'
import {
  buildResponses,
  commonFailures,
  buildFailureResponses,
  referToHeader,
  buildContent,
  buildPageSchema,
  referToParameter,
  referTo,
  bodyFailures,
  type JsonSchema
} from '../../envelope/openapi-responses.js'
import { buildExamplePatch, buildExampleSearch } from './example.js'
import { buildIncludeParameter, buildSearchParameters } from './parameters.js'
import { getDisplayName } from './resource-schemas.js'

/** The parts that the operations of one resource share with those of others. */
interface OperationContext {
  readonly mappings: readonly Mapping[]
  /** Parameters that are among the components. */
  readonly parameters: Readonly<Record<string, JsonSchema>>
}

/** The paths of one resource with their operations. */
export function buildResourcePaths (
  mapping: Mapping,
  { mappings, parameters }: OperationContext
): Record<string, JsonSchema> {
  const { path, appendOnly } = mapping
  return {
    [`/v1/${path}`]: {
      post: buildCreateOperation(mapping),
      get: buildSearchOperation(mapping, buildSearchParameters(mapping, parameters))
    },
    [`/v1/${path}/{id}`]: {
      get: buildReadOperation(
        mapping,
        listReferrers(mapping, mappings).map(referrer => referrer.mapping)
      ),
      ...(!appendOnly && { patch: buildUpdateOperation(mapping) }),
      delete: buildDeleteOperation(mapping)
    }
  }
}

/** At each operation, since the pages do not follow references next to the operations. */
const recordId = referToParameter('RecordId')
const entityTag = { ETag: referToHeader('ETag') }
const replayed = { [idempotencyKey.replayedHeader]: referToHeader('IdempotentReplayed') }
const withRecordFailures = (...codes: readonly FailureCode[]): FailureCode[] => [
  ...commonFailures,
  'NOT_FOUND',
  ...codes
]

function buildCreateOperation (mapping: Mapping): JsonSchema {
  const noun = getDisplayName(mapping)
  return {
    operationId: mapping.operation,
    tags: [mapping.path],
    summary: `Create ${formatRecordNoun(mapping)}`,
    parameters: [referToParameter('IdempotencyKey')],
    requestBody: { required: true, content: buildContent(plainTypes, { schema: referTo(`${noun}Create`) }) },
    responses: buildResponses(
      {
        status: 201,
        description: 'Created.',
        data: referTo(noun),
        headers: { ...entityTag, ...replayed, Location: referToHeader('Location') }
      },
      [...commonFailures, ...bodyFailures, 'IDEMPOTENCY_KEY_REUSED']
    )
  }
}

function buildSearchOperation (mapping: Mapping, parameters: readonly JsonSchema[]): JsonSchema {
  return {
    operationId: `search${toPascalCase(mapping.path)}`,
    tags: [mapping.path],
    summary: `Search ${mapping.path.replaceAll('-', ' ')}`,
    description: `For example \`GET /v1/${mapping.path}?${formatQuery(buildExampleSearch(mapping))}\``,
    parameters,
    responses: buildResponses({ status: 200, description: 'A page.', data: buildPageSchema(referTo(getDisplayName(mapping))) }, [
      ...commonFailures,
      'INVALID_CURSOR',
      'UNKNOWN_FILTER'
    ])
  }
}

function buildReadOperation (mapping: Mapping, referrers: readonly Mapping[]): JsonSchema {
  const includes = referrers.length > 0 ? [buildIncludeParameter(referrers.map(({ path }) => path))] : []
  return {
    operationId: `read${getDisplayName(mapping)}`,
    tags: [mapping.path],
    summary: `Read ${formatRecordNoun(mapping)}`,
    parameters: [recordId, ...includes, ...['Includes', 'Revincludes', 'IfNoneMatch'].map(referToParameter)],
    responses: {
      ...buildResponses(
        {
          status: 200,
          description: 'The record, or a Bundle if _include or _revinclude was sent.',
          data: { anyOf: [buildRecordSchema(mapping, referrers), referTo('Bundle')] },
          headers: entityTag
        },
        withRecordFailures()
      ),
      304: { $ref: '#/components/responses/NotModified' }
    }
  }
}

/** A record and the lists that may be included with it. */
function buildRecordSchema (mapping: Mapping, referrers: readonly Mapping[]): JsonSchema {
  const record = referTo(getDisplayName(mapping))
  if (referrers.length === 0) return record
  const lists = referrers.map(referrer => [referrer.path, { type: 'array', items: referTo(getDisplayName(referrer)) }])
  return {
    allOf: [
      record,
      {
        type: 'object',
        properties: { ...Object.fromEntries(lists), [incompleteLists]: { type: 'array', items: { type: 'string' } } }
      }
    ]
  }
}

function buildUpdateOperation (mapping: Mapping): JsonSchema {
  const noun = getDisplayName(mapping)
  const change = { schema: { anyOf: [referTo(`${noun}Change`), referTo('Patch')] } }
  return {
    operationId: `update${noun}`,
    tags: [mapping.path],
    summary: `Change ${formatRecordNoun(mapping)}`,
    description:
      'An object is a merge (RFC 7396), an array is a JSON Patch (RFC 6902) on the simple form, whatever the Content-Type. What the simple form does not show is kept.',
    parameters: [recordId, referToParameter('IfMatch'), referToParameter('IdempotencyKey')],
    requestBody: {
      required: true,
      content: {
        ...buildContent(bodyTypes, change),
        'application/json-patch+json': { ...change, example: buildExamplePatch(mapping) }
      }
    },
    responses: buildResponses(
      {
        status: 200,
        description: 'The complete changed record.',
        data: referTo(noun),
        headers: { ...entityTag, ...replayed }
      },
      withRecordFailures('PRECONDITION_FAILED', ...bodyFailures, 'IDEMPOTENCY_KEY_REUSED')
    )
  }
}

function buildDeleteOperation (mapping: Mapping): JsonSchema {
  return {
    operationId: `delete${getDisplayName(mapping)}`,
    tags: [mapping.path],
    summary: `Delete ${formatRecordNoun(mapping)}`,
    description: `While others refer to it, 409: \`details.referrers\` lists them in an order in which they can be deleted, to keys that may read all records.${mapping.appendOnly ? ' Needs a key with the scope `*`.' : ''}`,
    parameters: [recordId, referToParameter('IfMatch')],
    responses: {
      200: { $ref: '#/components/responses/Deleted' },
      ...buildFailureResponses(withRecordFailures('PRECONDITION_FAILED', 'CONFLICT'))
    }
  }
}

const formatQuery = (search: Readonly<Record<string, unknown>>): string =>
  Object.entries(search)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&')

const toPascalCase = (path: string): string =>
  path
    .split('-')
    .map(word => word[0]!.toUpperCase() + word.slice(1))
    .join('')

/** `a care team`, `an EOB` */
function formatRecordNoun (mapping: Mapping): string {
  const text = getDisplayName(mapping)
    .replace(/(?<=[a-z])[A-Z]/g, capital => ` ${capital}`)
    .replace(/[A-Z](?![A-Z])/g, capital => capital.toLowerCase())
  return `${/^[aeio]/i.test(text) ? 'an' : 'a'} ${text}`
}
