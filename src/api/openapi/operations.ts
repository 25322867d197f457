import { bodyTypes, plainTypes } from '../../envelope/body.js'
import type { FailureCode } from '../../envelope/failures.js'
import { idempotencyKey } from '../../idempotency/header.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { incompleteLists, referrersTo } from '../../mappings/relations.js'
import {
  responsesOf,
  commonFailures,
  failuresOf,
  header,
  inTypes,
  pageOf,
  parameter,
  referTo,
  withBody,
  type JsonSchema
} from '../../envelope/openapi-responses.js'
import { examplePatch, exampleSearch } from './example.js'
import { includeParameter, searchParameters } from './parameters.js'
import { displayName } from './resource-schemas.js'

/** The parts that the operations of one resource share with those of others. */
interface OperationContext {
  readonly mappings: readonly Mapping[]
  /** Parameters that are among the components. */
  readonly parameters: Readonly<Record<string, JsonSchema>>
}

/** The paths of one resource with their operations. */
export function resourcePaths (
  mapping: Mapping,
  { mappings, parameters }: OperationContext
): Record<string, JsonSchema> {
  const { path, appendOnly } = mapping
  return {
    [`/v1/${path}`]: { post: creates(mapping), get: searches(mapping, searchParameters(mapping, parameters)) },
    [`/v1/${path}/{id}`]: {
      get: reads(
        mapping,
        referrersTo(mapping, mappings).map(referrer => referrer.mapping)
      ),
      ...(!appendOnly && { patch: updates(mapping) }),
      delete: deletes(mapping)
    }
  }
}

/** At each operation, since the pages do not follow references next to the operations. */
const recordId = parameter('RecordId')
const entityTag = { ETag: header('ETag') }
const replayed = { [idempotencyKey.replayedHeader]: header('IdempotentReplayed') }
const one = (...codes: readonly FailureCode[]): FailureCode[] => [...commonFailures, 'NOT_FOUND', ...codes]

function creates (mapping: Mapping): JsonSchema {
  const noun = displayName(mapping)
  return {
    operationId: mapping.operation,
    tags: [mapping.path],
    summary: `Create ${aRecord(mapping)}`,
    parameters: [parameter('IdempotencyKey')],
    requestBody: { required: true, content: inTypes(plainTypes, { schema: referTo(`${noun}Create`) }) },
    responses: responsesOf(
      {
        status: 201,
        description: 'Created.',
        data: referTo(noun),
        headers: { ...entityTag, ...replayed, Location: header('Location') }
      },
      [...commonFailures, ...withBody, 'IDEMPOTENCY_KEY_REUSED']
    )
  }
}

function searches (mapping: Mapping, parameters: readonly JsonSchema[]): JsonSchema {
  return {
    operationId: `search${pascal(mapping.path)}`,
    tags: [mapping.path],
    summary: `Search ${mapping.path.replaceAll('-', ' ')}`,
    description: `For example \`GET /v1/${mapping.path}?${queryOf(exampleSearch(mapping))}\``,
    parameters,
    responses: responsesOf({ status: 200, description: 'A page.', data: pageOf(referTo(displayName(mapping))) }, [
      ...commonFailures,
      'INVALID_CURSOR',
      'UNKNOWN_FILTER'
    ])
  }
}

function reads (mapping: Mapping, referrers: readonly Mapping[]): JsonSchema {
  const includes = referrers.length > 0 ? [includeParameter(referrers.map(({ path }) => path))] : []
  return {
    operationId: `read${displayName(mapping)}`,
    tags: [mapping.path],
    summary: `Read ${aRecord(mapping)}`,
    parameters: [recordId, ...includes, parameter('Includes'), parameter('Revincludes'), parameter('IfNoneMatch')],
    responses: {
      ...responsesOf(
        {
          status: 200,
          description: 'The record, or a Bundle if _include or _revinclude was sent.',
          data: { anyOf: [recordWith(mapping, referrers), referTo('Bundle')] },
          headers: entityTag
        },
        one()
      ),
      304: { $ref: '#/components/responses/NotModified' }
    }
  }
}

/** A record and the lists that may be included with it. */
function recordWith (mapping: Mapping, referrers: readonly Mapping[]): JsonSchema {
  const record = referTo(displayName(mapping))
  if (referrers.length === 0) return record
  const lists = referrers.map(referrer => [referrer.path, { type: 'array', items: referTo(displayName(referrer)) }])
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

function updates (mapping: Mapping): JsonSchema {
  const noun = displayName(mapping)
  const change = { schema: { anyOf: [referTo(`${noun}Change`), referTo('Patch')] } }
  return {
    operationId: `update${noun}`,
    tags: [mapping.path],
    summary: `Change ${aRecord(mapping)}`,
    description:
      'An object is a merge (RFC 7396), an array is a JSON Patch (RFC 6902) on the simple form, whatever the Content-Type. What the simple form does not show is kept.',
    parameters: [recordId, parameter('IfMatch'), parameter('IdempotencyKey')],
    requestBody: {
      required: true,
      content: {
        ...inTypes(bodyTypes, change),
        'application/json-patch+json': { ...change, example: examplePatch(mapping) }
      }
    },
    responses: responsesOf(
      {
        status: 200,
        description: 'The complete changed record.',
        data: referTo(noun),
        headers: { ...entityTag, ...replayed }
      },
      one('PRECONDITION_FAILED', ...withBody, 'IDEMPOTENCY_KEY_REUSED')
    )
  }
}

function deletes (mapping: Mapping): JsonSchema {
  return {
    operationId: `delete${displayName(mapping)}`,
    tags: [mapping.path],
    summary: `Delete ${aRecord(mapping)}`,
    description: `While others refer to it, 409: \`details.referrers\` lists them in an order in which they can be deleted, to keys that may read all records.${mapping.appendOnly ? ' Needs a key with the scope `*`.' : ''}`,
    parameters: [recordId, parameter('IfMatch')],
    responses: {
      200: { $ref: '#/components/responses/Deleted' },
      ...failuresOf(one('PRECONDITION_FAILED', 'CONFLICT'))
    }
  }
}

const queryOf = (search: Readonly<Record<string, unknown>>): string =>
  Object.entries(search)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&')

const pascal = (path: string): string => path.split('-').map(word => word[0]!.toUpperCase() + word.slice(1)).join('')

/** `a care team`, `an EOB` */
function aRecord (mapping: Mapping): string {
  const text = displayName(mapping)
    .replace(/(?<=[a-z])[A-Z]/g, capital => ` ${capital}`)
    .replace(/[A-Z](?![A-Z])/g, capital => capital.toLowerCase())
  return `${/^[aeio]/i.test(text) ? 'an' : 'a'} ${text}`
}
