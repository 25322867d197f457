import { patterns } from '../mappings/kit/formats.js'
import { identityFields, type Mapping } from '../mappings/kit/mapping.js'
import type { Schema } from '../mappings/kit/schema.js'

/** JSON Schema as OpenAPI 3.1 prints it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** The schemas of one resource: as it is read, as it is created, as a merge changes it, and what those refer to. */
export function resourceSchemas (mapping: Mapping): Record<string, JsonSchema> {
  const noun = nounOf(mapping)
  const fields = Object.entries(mapping.fields).map(([name, { schema }]) => [name, published(schema, noun)] as const)
  const writable = fields.filter(([name]) => mapping.fields[name]!.options.readOnly !== true)
  return {
    [noun]: { type: 'object', description: mapping.about, properties: { ...identity, ...Object.fromEntries(fields) }, required: ['id', 'resourceType'] },
    [`${noun}Create`]: { type: 'object', description: `${mapping.about} What a client sends to create one.`, properties: Object.fromEntries(writable), ...requirementsOf(mapping), additionalProperties: false },
    [`${noun}Change`]: { type: 'object', description: 'The fields to change, as a merge (RFC 7396); null removes a field.', properties: Object.fromEntries(writable.map(([name, schema]) => [name, changeOf(mapping, name, schema)])), additionalProperties: false },
    ...definitionsOf(mapping, noun)
  }
}

/** The resource's name in schemas and operations: `createPatient` → `Patient`. */
export const nounOf = ({ operation }: Mapping): string => operation.replace(/^[a-z]+/, '')

const identity: Readonly<Record<(typeof identityFields)[number], JsonSchema>> = {
  id: { type: 'string', readOnly: true, description: 'Given by the server; never reused.' },
  resourceType: { type: 'string', readOnly: true, description: 'The FHIR R4 type behind this resource.' },
  versionId: { type: 'string', readOnly: true, description: 'Changes with every change; also the ETag.' },
  createdAt: { type: 'string', format: 'date-time', readOnly: true, description: 'Where known.' },
  updatedAt: { type: 'string', format: 'date-time', readOnly: true, description: 'When this version was stored.' }
}

/** Of a choice with a required field any one satisfies it. */
function requirementsOf ({ fields }: Mapping): JsonSchema {
  const required = Object.entries(fields).filter(([, { options }]) => options.required === true)
  const always = required.filter(([, { options }]) => options.choice === undefined).map(([name]) => name)
  const choices = required.filter(([, { options }]) => options.choice !== undefined).map(([, { options }]) => options.choice!)
  const oneOf = choices.map(choice => ({ anyOf: Object.keys(fields).filter(name => fields[name]!.options.choice === choice).map(name => ({ required: [name] })) }))
  return { ...always.length > 0 && { required: always }, ...oneOf.length > 0 && { allOf: oneOf } }
}

function changeOf ({ fields }: Mapping, name: string, schema: JsonSchema): JsonSchema {
  return fields[name]!.options.required === true && fields[name]!.options.choice === undefined ? schema : { anyOf: [schema, { type: 'null' }] }
}

/** A schema with our formats said as patterns, its definitions moved to the components, and our own keywords left out. */
function published (schema: Schema, noun: string): JsonSchema {
  const { 'x-expects': expects, 'x-aliases': _, 'x-ordered': __, 'x-references': ___, $defs: ____, $ref, format, pattern, description, ...rest } = schema
  const said = description ?? (expects === undefined ? undefined : sentence(expects))
  return {
    ...said !== undefined && { description: said },
    ...publishedParts(rest, noun),
    ...$ref !== undefined && { $ref: $ref.replace('#/$defs/', `#/components/schemas/${noun}`) },
    ...(pattern ?? (format && patterns[format])) !== undefined && { pattern: pattern ?? patterns[format!] }
  }
}

function publishedParts (rest: Schema, noun: string): JsonSchema {
  const one = (schema: Schema): JsonSchema => published(schema, noun)
  const each = (schemas: Readonly<Record<string, Schema>>): JsonSchema => Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, one(schema)]))
  return {
    ...rest,
    ...rest.items && { items: one(rest.items) },
    ...rest.not && { not: one(rest.not) },
    ...rest.anyOf && { anyOf: rest.anyOf.map(one) },
    ...rest.properties && { properties: each(rest.properties) },
    ...rest.dependentSchemas && { dependentSchemas: each(rest.dependentSchemas) }
  }
}

function definitionsOf ({ fields }: Mapping, noun: string): Record<string, JsonSchema> {
  const definitions = Object.values(fields).flatMap(({ schema }) => Object.entries(schema.$defs ?? {}))
  return Object.fromEntries(definitions.map(([name, schema]) => [noun + name, published(schema, noun)]))
}

const sentence = (words: string): string => `${words[0]!.toUpperCase()}${words.slice(1)}.`
