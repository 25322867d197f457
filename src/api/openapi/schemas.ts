import { patterns } from '../../mappings/core/formats.js'
import type { Format, Schema } from '../../mappings/core/schema.js'
import { referTo, type JsonSchema } from '../../envelope/openapi-responses.js'
import type { Components } from './components.js'

/**
 * The forms of a value. A `shown` value may be anything that another system stored; a `sent` value is checked; of a
 * `merged` object only the named members change, and null removes one.
 */
export type SchemaVariant = 'shown' | 'sent' | 'merged'

/** Where a schema is used. */
interface SchemaUse {
  readonly form: SchemaVariant
  /** The resource to which definitions belong. */
  readonly noun: string
  /** The name under which other schemas refer to an object used here. */
  readonly name: string
  readonly components: Components
}

/** The schema of a field as a client reads it. A schema with a name of its own is among the components. */
export function toOpenApiSchema (schema: Schema, use: SchemaUse): JsonSchema {
  if (use.form === 'merged' && !isMerged(schema)) {
    return toOpenApiSchema(schema, { ...use, form: 'sent', name: use.name.replace('Change', 'Create') })
  }
  const { description, examples, ...own } =
    use.form === 'shown'
      ? { ...(schema['x-shown'] ?? schema), $defs: schema.$defs, description: schema.description }
      : schema
  const around = {
    ...(description !== undefined && { description }),
    ...(examples !== undefined && use.form !== 'shown' && { examples })
  }
  const inner = withDefinitions(own, use)
  if (inner.$ref !== undefined) return { ...inner, ...around }
  return {
    ...inner,
    ...around,
    ...(isString(inner.description) && isString(description) && { description: `${description} ${inner.description}` })
  }
}

const isString = (value: unknown): value is string => typeof value === 'string'

const suffixes: Readonly<Record<SchemaVariant, string>> = { shown: '', sent: 'Input', merged: 'Change' }

/** An object changes member by member, even if another type is also allowed; a list is replaced. */
function isMerged ({ type, anyOf = [], $ref }: Schema): boolean {
  if (type === 'object' || $ref !== undefined) return true
  return anyOf.some(isMerged) && !anyOf.some(branch => branch.type === 'array')
}

function withDefinitions ({ $defs = {}, ...schema }: Schema, use: SchemaUse): JsonSchema {
  const nameOf = (definition: string): string => use.noun + definition + suffixes[use.form]
  for (const [name, definition] of Object.entries($defs)) {
    use.components.define(nameOf(name), definition, () => buildSchemaBody(definition, { ...use, name: nameOf(name) }))
  }
  if (schema.$ref !== undefined) return referTo(nameOf(schema.$ref.replace('#/$defs/', '')))
  return toNamedSchema(schema, use)
}

function toNamedSchema ({ title, ...schema }: Schema, use: SchemaUse): JsonSchema {
  const { form, name, components } = use
  if (title !== undefined) {
    // Maximum lengths do not apply to shown values.
    const datatype = (form === 'shown' ? title.replace(/\d+$/, '') : title) + suffixes[form]
    return components.define(datatype, schema.properties ?? schema.anyOf, () =>
      buildSchemaBody(schema, { ...use, name: datatype })
    )
  }
  const body = buildSchemaBody(schema, use)
  if (schema.type === 'object' && form === 'sent') return components.share(name, body)
  const scalar = findScalarName(schema, form)
  return scalar === undefined ? body : components.share(scalar, body)
}

const scalars: Partial<Record<Format, string>> = {
  text: 'Text',
  words: 'Words',
  date: 'Date',
  'fhir-dateTime': 'DateTime',
  'fhir-instant': 'Instant',
  'fhir-time': 'Time',
  uri: 'AbsoluteUri',
  'instant-or-day': 'InstantOrDay',
  'time-of-day': 'Time',
  'uri-reference': 'Uri',
  base64: 'Base64'
}

/** The usual limit of a text, which its name does not mention. */
const maxText = 1024 * 1024

function findScalarName (schema: Schema, form: SchemaVariant): string | undefined {
  const { type, pattern, format, maxLength = maxText, 'x-references': types } = schema
  if (type !== 'string') return undefined
  if (types !== undefined) return types.length === 1 ? `${types[0]}Id${suffixes[form]}` : undefined
  const name = format && scalars[format]
  if (name === undefined || pattern !== undefined || (form === 'shown' && !isDescribed(schema, form))) return undefined
  return name + (form === 'shown' || maxLength >= maxText ? '' : maxLength) + suffixes[form]
}

function buildSchemaBody (schema: Schema, use: SchemaUse): JsonSchema {
  const expects = schema['x-expects']
  const description = {
    ...(expects !== undefined &&
      isDescribed(schema, use.form) && { description: `${expects[0]!.toUpperCase()}${expects.slice(1)}.` })
  }
  const shownAs = schema['x-shown-as']
  return {
    ...description,
    ...(use.form === 'shown' && shownAs !== undefined && { description: shownAs }),
    ...parts[use.form](schema, use)
  }
}

const formats: readonly Format[] = [
  'date', 'fhir-dateTime', 'fhir-instant', 'fhir-time', 'uri', 'uri-reference', 'npi',
  'instant-or-day', 'time-of-day'
]

/** Whether a reader needs a description of the expected value next to the schema itself. */
function isDescribed (schema: Schema, form: SchemaVariant): boolean {
  if (schema['x-references'] !== undefined) return true
  if (form === 'shown') return schema.format !== undefined && formats.includes(schema.format)
  if (schema.enum !== undefined) return false
  if (schema.type === 'string') return true
  if (schema.type === 'object') return schema.dependentRequired !== undefined || schema['x-ordered'] !== undefined
  return schema.anyOf !== undefined && schema['x-aliases'] !== undefined
}

const parts: Readonly<Record<SchemaVariant, (schema: Schema, use: SchemaUse) => JsonSchema>> = {
  shown: buildShownParts,
  sent: buildSentParts,
  merged: buildMergedParts
}

/** Types and names alone: a stored value was not checked by this gateway. */
function buildShownParts (
  { type, enum: values, items, properties, anyOf = [], 'x-aliases': aliases = {} }: Schema,
  use: SchemaUse
): JsonSchema {
  const forms = removeDuplicates(
    anyOf.filter(branch => !isAboutNames(branch)).map(branch => toOpenApiSchema(branch, use))
  )
  if (forms.length === 1) return forms[0]!
  return {
    ...(type && { type }),
    ...(values && { enum: values.filter(value => !Object.hasOwn(aliases, value)) }),
    ...(items && { items: toOpenApiSchema(items, use) }),
    ...(properties && { properties: buildMemberSchemas(properties, use) }),
    ...(forms.length > 1 && { anyOf: forms })
  }
}

/** A branch that only says which members an object needs. */
const isAboutNames = (branch: Schema): boolean => Object.keys(branch).join() === 'required'

const removeDuplicates = (schemas: readonly JsonSchema[]): JsonSchema[] =>
  [...new Map(schemas.map(schema => [JSON.stringify(schema), schema])).values()]

/** Everything that is checked, with the gateway's formats as patterns and its own keywords left out. */
function buildSentParts (schema: Schema, use: SchemaUse): JsonSchema {
  const {
    'x-expects': _,
    'x-aliases': __,
    'x-ordered': ___,
    'x-references': ____,
    'x-shown': _____,
    'x-bound': ______,
    'x-names': _______,
    'x-display-of': ________,
    'x-shown-as': _________,
    format,
    pattern,
    items,
    not,
    anyOf,
    properties,
    dependentSchemas,
    ...plain
  } = schema
  const form = pattern ?? (format && patterns[format])
  return {
    ...plain,
    ...(form !== undefined && { pattern: form }),
    ...(pattern !== undefined && format !== undefined && { allOf: [{ pattern: patterns[format] }] }),
    ...(items && { items: toOpenApiSchema(items, use) }),
    ...(not && { not: toOpenApiSchema(not, use) }),
    // Separate from the properties, or type generators take the object for one form of several.
    ...(anyOf &&
      (anyOf.every(isAboutNames)
        ? { allOf: [{ anyOf: anyOf.map(({ required }) => ({ required })) }] }
        : { anyOf: removeDuplicates(anyOf.map(branch => toOpenApiSchema(branch, use))) })),
    ...(properties && { properties: buildMemberSchemas(properties, use) }),
    ...(dependentSchemas && {
      dependentSchemas: Object.fromEntries(
        Object.entries(dependentSchemas).map(([name, { properties = {}, ...rest }]) => [
          name,
          {
            ...buildSentParts(rest, use),
            ...(Object.keys(properties).length > 0 && {
              properties: mapSchemas(properties, member => buildSentParts(member, use))
            })
          }
        ])
      )
    })
  }
}

/** A merge may omit required members: the requirements are checked on its result. */
function buildMergedParts ({ properties, required = [], anyOf }: Schema, use: SchemaUse): JsonSchema {
  if (properties === undefined) {
    return { anyOf: removeDuplicates((anyOf ?? []).map(branch => toOpenApiSchema(branch, use))) }
  }
  const members = Object.entries(buildMemberSchemas(properties, use)).map(([name, member]) => [
    name,
    required.includes(name) ? member : toNullable(member)
  ])
  return { type: 'object', properties: Object.fromEntries(members), additionalProperties: false }
}

/** The schema of a member that null removes. */
export const toNullable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] })

const buildMemberSchemas = (properties: Readonly<Record<string, Schema>>, use: SchemaUse): Record<string, JsonSchema> =>
  mapSchemas(properties, (member, name) => toOpenApiSchema(member, { ...use, name: `${use.name}.${name}` }))

function mapSchemas (
  schemas: Readonly<Record<string, Schema>>,
  change: (schema: Schema, name: string) => JsonSchema
): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, change(schema, name)]))
}
