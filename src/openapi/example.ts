import type { Element } from '../mappings/kit/element.js'
import type { Mapping } from '../mappings/kit/mapping.js'
import type { Format, Schema } from '../mappings/kit/schema.js'

/** How many optional fields an example shows beside the required ones, so that it stays readable. */
const optionalFields = 6

/** A body that creates a resource: every required field and some others, the same at every call. */
export function exampleOf ({ fields }: Mapping): Readonly<Record<string, unknown>> {
  const shown = new Set<string>()
  const entries = Object.entries(fields).filter(([, element]) => isWritable(element))
  const required = entries.filter(([, { options }]) => options.required === true && claim(options.choice))
  const optional = entries
    .filter(([, { options, schema }]) => options.required !== true && (options.example !== undefined || isPlain(schema)))
    .filter(([, { options }]) => claim(options.choice))
    .slice(0, optionalFields)
  const chosen = new Set([...required, ...optional].map(([name]) => name))
  return Object.fromEntries(entries.filter(([name]) => chosen.has(name)).map(([name, { schema }]) => [name, valueOf(schema, schema.$defs ?? {})]))

  // Of the fields of one choice the first alone is shown.
  function claim (choice: string | undefined): boolean {
    if (choice !== undefined && shown.has(choice)) return false
    if (choice !== undefined) shown.add(choice)
    return true
  }
}

const isWritable = ({ options }: Element): boolean => options.readOnly !== true && options.shortcutOf === undefined
const isPlain = ({ type, anyOf }: Schema): boolean => (type === 'string' || type === 'boolean' || type === 'integer') && anyOf === undefined

const samples: Readonly<Record<Format, string>> = {
  text: 'text',
  words: 'Jean Marie',
  date: '2026-03-14',
  'fhir-dateTime': '2026-03-14T09:30:00Z',
  'fhir-instant': '2026-03-14T09:30:00Z',
  'fhir-time': '09:30:00',
  'uri-reference': 'https://example.org/it',
  base64: 'SGVsbG8=',
  npi: '1234567893'
}

function valueOf (schema: Schema, definitions: Readonly<Record<string, Schema>>): unknown {
  if (schema.examples?.[0] !== undefined) return schema.examples[0]
  if (schema.$ref !== undefined) return valueOf(definitions[schema.$ref.replace('#/$defs/', '')]!, definitions)
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema['x-references'] !== undefined) return schema['x-references'].includes('any') ? `${schema['x-references'][0]}/1` : '1'
  if (schema.type === 'array') return [valueOf(schema.items!, definitions)]
  if (schema.type === 'object') return objectOf(schema, definitions)
  if (schema.anyOf !== undefined) return valueOf(schema.anyOf[0]!, definitions)
  return scalarOf(schema)
}

function scalarOf ({ type, format, minimum = 1 }: Schema): unknown {
  if (type === 'boolean') return true
  if (type === 'number' || type === 'integer') return Math.max(1, minimum)
  return samples[format ?? 'text']
}

/** The required members, or the first one where none is. */
function objectOf (schema: Schema, definitions: Readonly<Record<string, Schema>>): unknown {
  const alternative = schema.anyOf?.find(({ required }) => required !== undefined)?.required ?? []
  const names = [...new Set([...schema.required ?? [], ...alternative])]
  const shown = names.length > 0 ? names : Object.keys(schema.properties ?? {}).slice(0, 1)
  return Object.fromEntries(shown.map(name => [name, valueOf(schema.properties![name]!, definitions)]))
}
