import type { FailureCode } from '../envelope/failures.js'
import type { Filter } from '../mappings/kit/filter.js'
import type { Mapping } from '../mappings/kit/mapping.js'
import { answersOf, everywhere, pageOf, withBody } from './answers.js'
import { exampleOf } from './example.js'
import { nounOf, type JsonSchema } from './schemas.js'

/** The paths of one resource with their operations. */
export function resourcePaths (mapping: Mapping): Record<string, JsonSchema> {
  const { path, appendOnly } = mapping
  return {
    [`/v1/${path}`]: { post: creates(mapping), get: searches(mapping) },
    [`/v1/${path}/{id}`]: {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string', pattern: '^[A-Za-z0-9.-]{1,64}$' } }],
      get: reads(mapping),
      ...!appendOnly && { patch: updates(mapping), delete: deletes(mapping) }
    }
  }
}

const schemaOf = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })
const entityTag = { ETag: { description: 'The version, for If-Match.', schema: { type: 'string' } } }
const ifMatch = { name: 'If-Match', in: 'header', description: 'The ETag of the version that you mean; another one stored is 412.', schema: { type: 'string' } }

function creates (mapping: Mapping): JsonSchema {
  const noun = nounOf(mapping)
  return {
    operationId: mapping.operation,
    tags: [mapping.path],
    summary: `Create a ${mapping.type}`,
    requestBody: { required: true, content: { 'application/json': { schema: schemaOf(`${noun}Create`), example: exampleOf(mapping) } } },
    responses: answersOf({
      status: 201, description: 'Created.', data: schemaOf(noun), headers: { ...entityTag, Location: { schema: { type: 'string' } } }
    }, [...everywhere, ...withBody])
  }
}

function searches (mapping: Mapping): JsonSchema {
  const filters = Object.entries(mapping.filters).flatMap(([name, filter]) => parametersOf(name, filter))
  return {
    operationId: `search${pascal(mapping.path)}`,
    tags: [mapping.path],
    summary: `Search ${mapping.path}`,
    parameters: [...filters, ...commonParameters(mapping)],
    responses: answersOf({ status: 200, description: 'A page.', data: pageOf(schemaOf(nounOf(mapping))) }, [...everywhere, 'INVALID_CURSOR', 'UNKNOWN_FILTER'])
  }
}

function reads (mapping: Mapping): JsonSchema {
  const noun = nounOf(mapping)
  return {
    operationId: `read${noun}`,
    tags: [mapping.path],
    summary: `Read one ${mapping.type}`,
    parameters: [{ name: 'If-None-Match', in: 'header', description: 'The ETag that you have; 304 when it is still the version.', schema: { type: 'string' } }],
    responses: { ...answersOf({ status: 200, description: 'The record.', data: schemaOf(noun), headers: entityTag }, one([])), 304: { description: 'Not modified.' } }
  }
}

function updates (mapping: Mapping): JsonSchema {
  const noun = nounOf(mapping)
  const merge = { schema: schemaOf(`${noun}Change`) }
  const patch = { schema: { type: 'array', items: schemaOf('PatchOperation') } }
  return {
    operationId: `update${noun}`,
    tags: [mapping.path],
    summary: `Change a ${mapping.type}`,
    description: 'The body tells the kind of change: an object is a merge (RFC 7396), an array is a JSON Patch (RFC 6902) on the simple form.',
    parameters: [ifMatch],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { anyOf: [merge.schema, patch.schema] } }, 'application/merge-patch+json': merge, 'application/json-patch+json': patch }
    },
    responses: answersOf({ status: 200, description: 'The whole changed record.', data: schemaOf(noun), headers: entityTag }, one(['PRECONDITION_FAILED', ...withBody]))
  }
}

function deletes (mapping: Mapping): JsonSchema {
  return {
    operationId: `delete${nounOf(mapping)}`,
    tags: [mapping.path],
    summary: `Delete a ${mapping.type}`,
    parameters: [ifMatch],
    responses: answersOf({ status: 200, description: 'Deleted.', data: schemaOf('Deleted') }, one(['PRECONDITION_FAILED', 'CONFLICT']))
  }
}

const one = (codes: readonly FailureCode[]): FailureCode[] => [...everywhere, 'NOT_FOUND', ...codes]

function parametersOf (name: string, filter: Filter): JsonSchema[] {
  const parameter = { name, in: 'query', description: meanings[filter.kind], schema: schemas[filter.kind] ?? { type: 'string', minLength: 1 } }
  const byWords = { name: `${name}:text`, in: 'query', description: 'By words of its text.', schema: { type: 'string', minLength: 1 } }
  return filter.hasText ? [parameter, byWords] : [parameter]
}

const meanings: Readonly<Record<Filter['kind'], string>> = {
  string: 'Text that begins so, in any case.',
  token: 'A code or `system|code`; several joined by commas.',
  boolean: 'true or false.',
  date: 'A date or a time with its zone; several joined by commas.',
  from: 'The first moment that counts.',
  until: 'The last moment that counts; a day alone covers the whole day.',
  reference: 'An id, or `Type/id`; several joined by commas.',
  quantity: 'A number, with eq, ne, gt, lt, ge or le before it and `|system|code` behind it when wanted.',
  number: 'A number, with eq, ne, gt, lt, ge or le before it when wanted.',
  uri: 'The whole URI.'
}

const schemas: Partial<Record<Filter['kind'], JsonSchema>> = { boolean: { type: 'boolean' } }

function commonParameters ({ filters }: Mapping): JsonSchema[] {
  const names = Object.keys(filters)
  return [
    { name: 'count', in: 'query', description: 'Records a page.', schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 } },
    { name: 'cursor', in: 'query', description: 'From the page before.', schema: { type: 'string' } },
    { name: 'sort', in: 'query', description: `Names of filters joined by commas, - before one for descending: ${names.slice(0, 3).join(', ')} …`, schema: { type: 'string' } },
    { name: 'updatedSince', in: 'query', description: 'Changed at this moment or later.', schema: { type: 'string' } },
    { name: 'id', in: 'query', description: 'Ids joined by commas.', schema: { type: 'string' } }
  ]
}

const pascal = (path: string): string => path.split('-').map(word => word[0]!.toUpperCase() + word.slice(1)).join('')
