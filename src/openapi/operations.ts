import type { FailureCode } from '../envelope/failures.js'
import type { Mapping } from '../mappings/kit/mapping.js'
import { answersOf, everywhere, failuresOf, header, pageOf, withBody } from './answers.js'
import { referTo, type JsonSchema } from './components.js'
import { examplePatch, exampleSearch } from './example.js'
import { parameter, searchParameters } from './parameters.js'
import { nounOf } from './resource-schemas.js'

/** The paths of one resource with their operations. */
export function resourcePaths (mapping: Mapping, shared: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  const { path, appendOnly } = mapping
  return {
    [`/v1/${path}`]: { post: creates(mapping), get: searches(mapping, searchParameters(mapping, shared)) },
    [`/v1/${path}/{id}`]: {
      get: reads(mapping),
      ...!appendOnly && { patch: updates(mapping), delete: deletes(mapping) }
    }
  }
}

/** At each operation, since the pages do not follow references that stand beside them. */
const recordId = parameter('RecordId')
const entityTag = { ETag: header('ETag') }
const one = (...codes: readonly FailureCode[]): FailureCode[] => [...everywhere, 'NOT_FOUND', ...codes]

function creates (mapping: Mapping): JsonSchema {
  const noun = nounOf(mapping)
  return {
    operationId: mapping.operation,
    tags: [mapping.path],
    summary: `Create ${aRecord(mapping)}`,
    requestBody: { required: true, content: { 'application/json': { schema: referTo(`${noun}Create`) } } },
    responses: answersOf({
      status: 201, description: 'Created.', data: referTo(noun), headers: { ...entityTag, Location: header('Location') }
    }, [...everywhere, ...withBody])
  }
}

function searches (mapping: Mapping, parameters: readonly JsonSchema[]): JsonSchema {
  return {
    operationId: `search${pascal(mapping.path)}`,
    tags: [mapping.path],
    summary: `Search ${mapping.path.replaceAll('-', ' ')}`,
    description: `For example \`GET /v1/${mapping.path}?${queryOf(exampleSearch(mapping))}\``,
    parameters,
    responses: answersOf({ status: 200, description: 'A page.', data: pageOf(referTo(nounOf(mapping))) }, [...everywhere, 'INVALID_CURSOR', 'UNKNOWN_FILTER'])
  }
}

function reads (mapping: Mapping): JsonSchema {
  const noun = nounOf(mapping)
  return {
    operationId: `read${noun}`,
    tags: [mapping.path],
    summary: `Read ${aRecord(mapping)}`,
    parameters: [recordId, parameter('IfNoneMatch')],
    responses: {
      ...answersOf({ status: 200, description: 'The record.', data: referTo(noun), headers: entityTag }, one()),
      304: { $ref: '#/components/responses/NotModified' }
    }
  }
}

function updates (mapping: Mapping): JsonSchema {
  const noun = nounOf(mapping)
  const merge = { schema: referTo(`${noun}Change`) }
  const patch = { schema: referTo('Patch'), example: examplePatch(mapping) }
  return {
    operationId: `update${noun}`,
    tags: [mapping.path],
    summary: `Change ${aRecord(mapping)}`,
    description: 'The body tells the kind of change: an object is a merge (RFC 7396), an array is a JSON Patch (RFC 6902) on the simple form. What the simple form does not show stays.',
    parameters: [recordId, parameter('IfMatch')],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { anyOf: [merge.schema, patch.schema] } }, 'application/merge-patch+json': merge, 'application/json-patch+json': patch }
    },
    responses: answersOf({ status: 200, description: 'The whole changed record.', data: referTo(noun), headers: entityTag }, one('PRECONDITION_FAILED', ...withBody))
  }
}

function deletes (mapping: Mapping): JsonSchema {
  return {
    operationId: `delete${nounOf(mapping)}`,
    tags: [mapping.path],
    summary: `Delete ${aRecord(mapping)}`,
    parameters: [recordId, parameter('IfMatch')],
    responses: { 200: { $ref: '#/components/responses/Deleted' }, ...failuresOf(one('PRECONDITION_FAILED', 'CONFLICT')) }
  }
}

const queryOf = (search: Readonly<Record<string, unknown>>): string => Object.entries(search).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')

const pascal = (path: string): string => path.split('-').map(word => word[0]!.toUpperCase() + word.slice(1)).join('')

/** `a care team`, `an EOB` */
function aRecord (mapping: Mapping): string {
  const words = nounOf(mapping).replace(/(?<=[a-z])[A-Z]/g, capital => ` ${capital}`).replace(/[A-Z](?![A-Z])/g, capital => capital.toLowerCase())
  return `${/^[aeio]/i.test(words) ? 'an' : 'a'} ${words}`
}
