import { identityFields, newUrl, now, type Mapping } from '../../mappings/core/mapping.js'
import { orderRules } from '../../mappings/core/date-order.js'
import type { JsonSchema } from '../../envelope/openapi-responses.js'
import type { Components } from './components.js'
import { exampleChange, exampleOf, exampleResponse } from './example.js'
import { nullable, toOpenApiSchema, type SchemaVariant } from './schemas.js'

/** The resource's name in schemas and operations: `createPatient` → `Patient`. */
export const displayName = ({ operation }: Mapping): string => operation.replace(/^[a-z]+/, '')

/** Adds the schemas of one resource: as it is shown, as it is created, and as a merge changes it. */
export function addResourceSchemas (mapping: Mapping, components: Components): void {
  const noun = displayName(mapping)
  components.named(noun, mapping, () => shown(mapping, components))
  components.named(`${noun}Create`, mapping, () => created(mapping, components))
  if (!mapping.appendOnly) components.named(`${noun}Change`, mapping, () => changed(mapping, components))
}

function shown (mapping: Mapping, components: Components): JsonSchema {
  const identity = {
    ...identityOf(components),
    resourceType: { type: 'string', const: mapping.type, description: 'The FHIR R4 type behind this resource.' }
  }
  return {
    type: 'object',
    description: mapping.about,
    properties: { ...identity, ...fieldsOf(mapping, 'shown', components) },
    required: ['id', 'resourceType'],
    examples: [exampleResponse(mapping)]
  }
}

function created (mapping: Mapping, components: Components): JsonSchema {
  const fields = fieldsOf(mapping, 'sent', components)
  return {
    type: 'object',
    description: [mapping.about, ...rivalsOf(mapping), ...ordersOf(mapping)].join(' '),
    properties: Object.fromEntries(
      Object.entries(fields).map(([name, schema]) => [name, withDefault(mapping, name, schema)])
    ),
    ...requirementsOf(mapping),
    additionalProperties: false,
    examples: [exampleOf(mapping)]
  }
}

function changed (mapping: Mapping, components: Components): JsonSchema {
  const fields = Object.entries(fieldsOf(mapping, 'merged', components))
  return {
    type: 'object',
    description: 'The fields to change, as a merge (RFC 7396); null removes a field.',
    properties: Object.fromEntries(
      fields.map(([name, schema]) => [name, isAlwaysThere(mapping, name) ? schema : nullable(schema)])
    ),
    additionalProperties: false,
    examples: [exampleChange(mapping)]
  }
}

const suffixes: Readonly<Record<SchemaVariant, string>> = { shown: '', sent: 'Create', merged: 'Change' }

function fieldsOf (mapping: Mapping, form: SchemaVariant, components: Components): Record<string, JsonSchema> {
  const noun = displayName(mapping)
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

const identityOf = (components: Components): Record<string, JsonSchema> =>
  Object.fromEntries(
    Object.entries(identity).map(([name, schema]) => [
      name,
      components.named(`${name[0]!.toUpperCase()}${name.slice(1)}`, schema, () => schema)
    ])
  )

/** In a choice with a required field, any field of it satisfies the requirement. */
function requirementsOf ({ fields }: Mapping): JsonSchema {
  const required = Object.entries(fields).filter(
    ([, { options }]) => options.required === true && options.default === undefined
  )
  const always = required.filter(([, { options }]) => options.choice === undefined).map(([name]) => name)
  const choices = [...new Set(required.flatMap(([, { options }]) => options.choice ?? []))]
  const allOf = choices.map(choice => ({ anyOf: namesOf(fields, choice).map(name => ({ required: [name] })) }))
  return { ...always.length > 0 && { required: always }, ...allOf.length > 0 && { allOf } }
}

const namesOf = (fields: Mapping['fields'], choice: string): string[] =>
  Object.keys(fields).filter(name => fields[name]!.options.choice === choice)

/** Says which fields exclude each other. */
function rivalsOf ({ fields }: Mapping): string[] {
  const choices = [...new Set(Object.values(fields).flatMap(({ options }) => options.choice ?? []))]
  return choices
    .map(choice => namesOf(fields, choice))
    .filter(names => names.length > 1)
    .map(names => `At most one of ${names.join(', ')}.`)
}

/** Says which times must not be before others. */
const ordersOf = ({ fields }: Mapping): string[] => orderRules(fields).map(({ message }) => `${message}.`)

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
