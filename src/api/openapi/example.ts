/**
 * Examples of requests and responses, made from the declarations, the same at every call; the tests send all of them.
 */
import type { FhirElement, FhirResource } from '../../mappings/fhir.js'
import type { Element, CreateContext } from '../../mappings/core/element.js'
import type { Filter } from '../../mappings/core/filter.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import type { Format, Schema } from '../../mappings/core/schema.js'

type Simple = Readonly<Record<string, unknown>>

const time = '2026-03-14T09:30:00.000Z'

/** The request that the examples belong to. */
export const exampleContext: CreateContext = {
  now: time,
  keyName: 'intake service',
  newUrl: () => 'https://example.org/canonical/1'
}

/** How many optional fields an example shows next to the required ones, so that it stays readable. */
const optionalFields = 6

/** A body that creates a resource: every required field, and some others that go with them. */
export function buildExample (mapping: Mapping): Simple {
  const min = withOneOfSeveral(mapping, buildFieldValues(mapping, listRequiredFields(mapping.fields)))
  const max = Object.keys(min).length + optionalFields
  const body = listOptionalFields(mapping.fields).reduce<Simple>((body, name) => {
    const more = { ...body, ...buildFieldValues(mapping, [name]) }
    return Object.keys(body).length < max && isValid(mapping, toFhirResource(mapping, more)) ? more : body
  }, min)
  return Object.fromEntries(
    Object.keys(mapping.fields)
      .filter(name => Object.hasOwn(body, name))
      .map(name => [name, body[name]])
  )
}

/**
 * With the first field that makes it valid, where a rule requires one of several, such as actorId and participantType.
 */
function withOneOfSeveral (mapping: Mapping, body: Simple): Simple {
  const resource = toFhirResource(mapping, body)
  const broken = mapping.rules.filter(rule => !rule.holds(resource))
  const candidates = broken
    .flatMap(({ fields }) => fields)
    .map(name => ({ ...body, ...buildFieldValues(mapping, [name]) }))
  return candidates.find(more => isValid(mapping, toFhirResource(mapping, more))) ?? body
}

/** A merge that sets one field of the example and removes another. */
export function buildExampleChange (mapping: Mapping): Simple {
  const before = buildExampleResource(mapping)
  const isValidChange = (change: Simple): boolean => isValid(mapping, mapping.patch(before, change))
  const names = listOptionalFields(mapping.fields)
  const set =
    [...names, ...listRequiredFields(mapping.fields)]
      .map(name => buildFieldValues(mapping, [name]))
      .find(isValidChange) ?? {}
  const removed = names
    .filter(name => !Object.hasOwn(set, name))
    .find(name => Object.hasOwn(buildExample(mapping), name) && isValidChange({ ...set, [name]: null }))
  return removed === undefined ? set : { ...set, [removed]: null }
}

/** The same as a JSON Patch, without the removal: a field that is not there cannot be removed. */
export function buildExamplePatch (mapping: Mapping): readonly Simple[] {
  return Object.entries(buildExampleChange(mapping))
    .slice(0, 1)
    .map(([name, value]) => ({ op: 'add', path: `/${name}`, value }))
}

/** The FHIR resource that the example becomes. */
export const buildExampleResource = (mapping: Mapping): FhirResource => toFhirResource(mapping, buildExample(mapping))

const toFhirResource = (mapping: Mapping, body: Simple): FhirResource =>
  mapping.toFhir(mapping.withDefaults(body, exampleContext))

const isValid = ({ rules }: Mapping, resource: FhirElement): boolean => rules.every(rule => rule.holds(resource))

const buildFieldValues = ({ fields }: Mapping, names: readonly string[]): Simple =>
  Object.fromEntries(names.map(name => [name, buildFieldValue(name, fields[name]!)]))

/** The example as a client reads it after its creation. */
export function buildExampleResponse (mapping: Mapping): Simple {
  return {
    ...mapping.present({
      ...buildExampleResource(mapping),
      id: '6e8d3c62',
      meta: { versionId: '1', lastUpdated: time }
    })
  }
}

/** A search by some filters: the first ones whose values people know. */
export function buildExampleSearch (mapping: Mapping): Simple {
  const names = Object.keys(mapping.filters).filter(name => name !== 'identifier').slice(0, 2)
  return {
    ...Object.fromEntries(names.map(name => [name, buildExampleFilterValue(mapping, name)])),
    sort: '-updatedSince',
    count: 10
  }
}

/** A value of a filter, one of several where it takes several. */
export function buildExampleFilterValue ({ fields, filters }: Mapping, name: string): unknown {
  const { kind, types = [] } = filters[name]!
  if (kind === 'reference') return types.includes('any') ? `${types[0]}/1` : '1'
  if (kind === 'token') return fields[name]?.schema.enum?.[0] ?? texts[name] ?? 'active'
  return filterSamples[kind] ?? texts[name] ?? toWords(name)
}

const filterSamples: Partial<Record<Filter['kind'], unknown>> = {
  boolean: true,
  date: '2026-03-14',
  from: '2026-03-01',
  until: '2026-03-31',
  quantity: 'gt5',
  number: 'gt5',
  uri: 'https://example.org/it'
}

/** The fields without which nothing is created; of one choice the first. */
function listRequiredFields (fields: Mapping['fields']): string[] {
  const needed = Object.entries(fields).filter(([, { options }]) => options.required === true)
  return needed
    .filter(
      ([, { options }], index) =>
        options.choice === undefined ||
        needed.findIndex(([, other]) => other.options.choice === options.choice) === index
    )
    .map(([name]) => name)
}

/** The fields that may be left out and that are easily read. */
function listOptionalFields (fields: Mapping['fields']): string[] {
  return Object.entries(fields)
    .filter(
      ([, element]) =>
        isWritable(element) &&
        element.options.required !== true &&
        element.options.choice === undefined &&
        isPlain(element.schema)
    )
    .map(([name]) => name)
}

const isWritable = ({ options }: Element): boolean => options.readOnly !== true && options.shortcutOf === undefined
const isPlain = ({ type, examples, 'x-references': types }: Schema): boolean =>
  examples !== undefined || (types === undefined && (type === 'string' || type === 'boolean' || type === 'integer'))

const samples: Readonly<Record<Exclude<Format, 'text' | 'words' | 'code'>, string>> = {
  date: '2026-03-14',
  'fhir-dateTime': '2026-03-14T09:30:00Z',
  'fhir-instant': '2026-03-14T09:30:00Z',
  'fhir-time': '09:30:00',
  uri: 'https://example.org/it',
  'time-of-day': '09:30:00',
  'instant-or-day': '2026-03-14T09:30:00Z',
  'uri-reference': 'https://example.org/it',
  base64: 'SGVsbG8=',
  npi: '1234567893'
}

/** Texts of fields whose names do not read well as their own example. */
const texts: Readonly<Record<string, string>> = {
  firstName: 'Ada',
  middleName: 'King',
  lastName: 'Byron',
  prefix: 'Dr',
  suffix: 'PhD',
  email: 'ada@example.org',
  phone: '+44 20 7946 0000',
  line: '12 Marsh Lane',
  city: 'London',
  postalCode: 'SW1A 1AA',
  country: 'GB',
  currency: 'GBP',
  unit: 'mg',
  identifier: 'A-1001',
  value: 'A-1001'
}

/** `lotNumber` → `lot number`. */
const toWords = (name: string): string => name.replace(/[A-Z]/g, capital => ` ${capital.toLowerCase()}`)

const buildFieldValue = (name: string, { schema, options }: Element): unknown =>
  options.canonicalOf === undefined ? buildValue(name, schema) : samples['uri-reference']

function buildValue (
  name: string,
  schema: Schema,
  definitions: Readonly<Record<string, Schema>> = schema.$defs ?? {}
): unknown {
  if (schema.examples?.[0] !== undefined) return schema.examples[0]
  if (schema.$ref !== undefined) return buildValue(name, definitions[schema.$ref.replace('#/$defs/', '')]!, definitions)
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema['x-references'] !== undefined) {
    return schema['x-references'].includes('any') ? `${schema['x-references'][0]}/1` : '1'
  }
  if (schema.type === 'array') return [buildValue(name, schema.items!, definitions)]
  if (schema.type === 'object') return buildObject(schema, definitions)
  if (schema.anyOf !== undefined) return buildValue(name, schema.anyOf[0]!, definitions)
  return buildScalar(name, schema)
}

function buildScalar (name: string, { type, format, minimum = 1, maxLength }: Schema): unknown {
  if (type === 'boolean') return true
  if (type === 'number' || type === 'integer') return Math.max(1, minimum)
  if (format !== undefined && format !== 'text' && format !== 'words' && format !== 'code') return samples[format]
  return (texts[name] ?? toWords(name)).slice(0, maxLength)
}

/** The required members, or the first one where none is. */
function buildObject (schema: Schema, definitions: Readonly<Record<string, Schema>>): unknown {
  const alternative = schema.anyOf?.find(({ required }) => required !== undefined)?.required ?? []
  const names = [...new Set([...schema.required ?? [], ...alternative])]
  const selected = names.length > 0 ? names : Object.keys(schema.properties ?? {}).slice(0, 1)
  return Object.fromEntries(selected.map(name => [name, buildValue(name, schema.properties![name]!, definitions)]))
}
