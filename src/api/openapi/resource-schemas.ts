import { identityFields, newUrl, now, type Mapping } from '../../mappings/core/mapping.js'
import { buildOrderRules } from '../../mappings/core/date-order.js'
import type { JsonSchema } from '../../envelope/openapi-responses.js'
import type { Components } from './components.js'
import { buildExampleChange, buildExample, buildExampleResponse } from './example.js'
import { toNullable, toOpenApiSchema, type SchemaVariant } from './schemas.js'

/** The resource's name in schemas and operations: `createPatient` → `Patient`. */
export const getDisplayName = ({ operation }: Mapping): string => operation.replace(/^[a-z]+/, '')

/** Adds the schemas of one resource: for responses, for a create and for a merge patch. */
export function addResourceSchemas (mapping: Mapping, components: Components): void {
  const noun = getDisplayName(mapping)
  components.define(noun, mapping, () => buildReadSchema(mapping, components))
  components.define(`${noun}Create`, mapping, () => buildCreateSchema(mapping, components))
  if (!mapping.appendOnly) components.define(`${noun}Change`, mapping, () => buildChangeSchema(mapping, components))
}

function buildReadSchema (mapping: Mapping, components: Components): JsonSchema {
  const identity = {
    ...buildIdentitySchemas(components),
    resourceType: { type: 'string', const: mapping.type, description: 'The FHIR R4 type behind this resource.' }
  }
  return {
    type: 'object',
    description: mapping.about,
    properties: { ...identity, ...buildFieldSchemas(mapping, 'shown', components) },
    required: ['id', 'resourceType'],
    examples: [buildExampleResponse(mapping)]
  }
}

function buildCreateSchema (mapping: Mapping, components: Components): JsonSchema {
  const fields = buildFieldSchemas(mapping, 'sent', components)
  return {
    type: 'object',
    description: [mapping.about, ...formatExclusiveFields(mapping), ...formatOrderRules(mapping)].join(' '),
    properties: Object.fromEntries(
      Object.entries(fields).map(([name, schema]) => [name, withDefault(mapping, name, schema)])
    ),
    ...buildRequirements(mapping),
    additionalProperties: false,
    examples: [buildExample(mapping)]
  }
}

function buildChangeSchema (mapping: Mapping, components: Components): JsonSchema {
  const fields = Object.entries(buildFieldSchemas(mapping, 'merged', components))
  return {
    type: 'object',
    description: 'The fields to change, as a merge (RFC 7396); null removes a field.',
    properties: Object.fromEntries(
      fields.map(([name, schema]) => [name, isAlwaysThere(mapping, name) ? schema : toNullable(schema)])
    ),
    additionalProperties: false,
    examples: [buildExampleChange(mapping)]
  }
}

const suffixes: Readonly<Record<SchemaVariant, string>> = { shown: '', sent: 'Create', merged: 'Change' }

function buildFieldSchemas (mapping: Mapping, form: SchemaVariant, components: Components): Record<string, JsonSchema> {
  const noun = getDisplayName(mapping)
  return Object.fromEntries(
    Object.entries(mapping.fields)
      .filter(([, { options }]) => form === 'shown' || options.readOnly !== true)
      .map(([name, { schema }]) => [
        name,
        toOpenApiSchema(schema, { form, noun, name: `${noun}${suffixes[form]}.${name}`, components })
      ])
  )
}

type Identity = Exclude<(typeof identityFields)[number], 'resourceType'>

const identity: Readonly<Record<Identity, JsonSchema>> = {
  id: { type: 'string', description: 'Assigned by the server and never reused.' },
  versionId: { type: 'string', description: 'Changes with every update; also in the ETag.' },
  createdAt: {
    type: 'string',
    format: 'date-time',
    description:
      'Absent where the datastore does not report it: for records that raw FHIR or another system replaced.'
  },
  updatedAt: { type: 'string', format: 'date-time', description: 'When this version was stored.' }
}

const buildIdentitySchemas = (components: Components): Record<string, JsonSchema> =>
  Object.fromEntries(
    Object.entries(identity).map(([name, schema]) => [
      name,
      components.define(`${name[0]!.toUpperCase()}${name.slice(1)}`, schema, () => schema)
    ])
  )

/** In a choice with a required field, any field of it satisfies the requirement. */
function buildRequirements ({ fields }: Mapping): JsonSchema {
  const required = Object.entries(fields).filter(
    ([, { options }]) => options.required === true && options.default === undefined
  )
  const always = required.filter(([, { options }]) => options.choice === undefined).map(([name]) => name)
  const choices = [...new Set(required.flatMap(([, { options }]) => options.choice ?? []))]
  const allOf = choices.map(choice => ({ anyOf: listChoiceFields(fields, choice).map(name => ({ required: [name] })) }))
  return { ...always.length > 0 && { required: always }, ...allOf.length > 0 && { allOf } }
}

const listChoiceFields = (fields: Mapping['fields'], choice: string): string[] =>
  Object.keys(fields).filter(name => fields[name]!.options.choice === choice)

/** Says which fields exclude each other. */
function formatExclusiveFields ({ fields }: Mapping): string[] {
  const choices = [...new Set(Object.values(fields).flatMap(({ options }) => options.choice ?? []))]
  return choices
    .map(choice => listChoiceFields(fields, choice))
    .filter(names => names.length > 1)
    .map(names => `At most one of ${names.join(', ')}.`)
}

/** Says which times must not be before others. */
const formatOrderRules = ({ fields }: Mapping): string[] => buildOrderRules(fields).map(({ message }) => `${message}.`)

const isAlwaysThere = ({ fields }: Mapping, name: string): boolean =>
  fields[name]!.options.required === true && fields[name]!.options.choice === undefined

function withDefault ({ fields }: Mapping, name: string, schema: JsonSchema): JsonSchema {
  const value = fields[name]!.options.default
  if (value === undefined) return schema
  if (typeof value !== 'function') return { ...schema, default: value }
  const text = createContexts.get(value)
  return text === undefined
    ? schema
    : { ...schema, description: [schema.description, text].filter(part => part !== undefined).join(' ') }
}

const createContexts = new Map<unknown, string>([
  [now, 'If absent, the time of the request.'],
  [newUrl, 'If absent, a new URL.']
])
