import { patterns } from '../mappings/kit/formats.js'
import { identityFields, type Mapping } from '../mappings/kit/mapping.js'
import type { Schema } from '../mappings/kit/schema.js'

/** JSON Schema as OpenAPI 3.1 prints it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** The schemas of one resource: as it is read, as it is created, as a merge changes it, and what those refer to. */
export function resourceSchemas (mapping: Mapping): Record<string, JsonSchema> {
  const noun = nounOf(mapping)
  const shared: Shared = { noun, components: {} }
  const fields = Object.entries(mapping.fields).map(([name, { schema }]) => [name, published(schema, shared)] as const)
  const writable = fields.filter(([name]) => mapping.fields[name]!.options.readOnly !== true)
  return {
    [noun]: { type: 'object', description: mapping.about, properties: { ...identity, ...Object.fromEntries(fields) }, required: ['id', 'resourceType'] },
    [`${noun}Create`]: { type: 'object', description: `${mapping.about} What a client sends to create one.`, properties: Object.fromEntries(writable), ...requirementsOf(mapping), additionalProperties: false },
    [`${noun}Change`]: { type: 'object', description: 'The fields to change, as a merge (RFC 7396); null removes a field.', properties: Object.fromEntries(writable.map(([name, schema]) => [name, changeOf(mapping, name, schema)])), additionalProperties: false },
    ...definitionsOf(mapping, shared),
    ...shared.components
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

/** What is moved out of a resource's schemas: datatypes with a title, under it; own definitions, under the resource's name and theirs. */
interface Shared { readonly noun: string, readonly components: Record<string, JsonSchema> }

/** A schema with our formats said as patterns and our own keywords left out; one with a title becomes a component. */
function published (schema: Schema, shared: Shared): JsonSchema {
  const { title, description, ...rest } = schema
  if (title === undefined) return { ...saidOf(schema), ...partsOf(rest, shared) }
  shared.components[title] ??= { ...saidOf(rest), ...partsOf(rest, shared) }
  return { $ref: `#/components/schemas/${title}`, ...description !== undefined && { description } }
}

function saidOf ({ description, 'x-expects': expects }: Schema): JsonSchema {
  const said = description ?? (expects === undefined ? undefined : sentence(expects))
  return said === undefined ? {} : { description: said }
}

function partsOf (schema: Schema, shared: Shared): JsonSchema {
  const { 'x-expects': _, 'x-aliases': __, 'x-ordered': ___, 'x-references': ____, $defs: _____, description: ______, $ref, format, pattern, ...rest } = schema
  const form = pattern ?? (format && patterns[format])
  return {
    ...rest,
    ...$ref !== undefined && { $ref: $ref.replace('#/$defs/', `#/components/schemas/${shared.noun}`) },
    ...form !== undefined && { pattern: form },
    ...innerOf(rest, shared)
  }
}

function innerOf ({ items, not, anyOf, properties, dependentSchemas }: Schema, shared: Shared): JsonSchema {
  const one = (schema: Schema): JsonSchema => published(schema, shared)
  const each = (schemas: Readonly<Record<string, Schema>>): JsonSchema => Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, one(schema)]))
  return {
    ...items && { items: one(items) },
    ...not && { not: one(not) },
    ...anyOf && { anyOf: anyOf.map(one) },
    ...properties && { properties: each(properties) },
    ...dependentSchemas && { dependentSchemas: each(dependentSchemas) }
  }
}

function definitionsOf ({ fields }: Mapping, shared: Shared): Record<string, JsonSchema> {
  const definitions = Object.values(fields).flatMap(({ schema }) => Object.entries(schema.$defs ?? {}))
  return Object.fromEntries(definitions.map(([name, schema]) => [shared.noun + name, published(schema, shared)]))
}

const sentence = (words: string): string => `${words[0]!.toUpperCase()}${words.slice(1)}.`
