/** Simple forms as clients may send them, generated from the schemas that validate them. */
import fc, { type Arbitrary } from 'fast-check'
import { ExactNumber } from '../../src/json/json.js'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { isOrdered } from '../../src/mappings/core/date-order.js'
import type { Format, Schema } from '../../src/mappings/core/schema.js'

type Simple = Readonly<Record<string, unknown>>

/** An object as a JSON parser makes it. */
const record = <T>(members: { [K in keyof T]: Arbitrary<T[K]> }): Arbitrary<T> =>
  fc.record(members, { noNullPrototype: true }) as Arbitrary<T>

/** How deep a schema that refers to itself is followed. */
const deepestReference = 2

/**
 * A body that creates a resource: the required fields, at most one of each choice, no shortcut together with its whole
 * field.
 */
export function anySimple (mapping: Mapping): Arbitrary<Simple> {
  const values = anyFieldValues(mapping)
  return fc.tuple(fc.record(values, { requiredKeys: [], noNullPrototype: true }), record(pickRequired(mapping, values)))
    .map(([optional, required]) => dropConflicts(mapping, { ...optional, ...required }, required))
}

/** Changes of a resource: some fields set, others removed by null. */
export function anyChanges (mapping: Mapping): Arbitrary<Simple> {
  const values = anyFieldValues(mapping)
  const changes = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      mapping.fields[name]!.options.required
        ? value
        : fc.oneof({ weight: 4, arbitrary: value }, { weight: 1, arbitrary: fc.constant(null) })
    ])
  )
  const few = fc.subarray(Object.keys(values), { minLength: 1, maxLength: Math.min(4, Object.keys(values).length) })
  return few.chain(names => record(Object.fromEntries(names.map(name => [name, changes[name]!]))))
    .map(picked => dropConflicts(mapping, picked, {}))
}

/** A value of each field that a client may write. */
export function anyFieldValues ({ fields }: Mapping): Readonly<Record<string, Arbitrary<unknown>>> {
  return Object.fromEntries(Object.entries(fields)
    .filter(([, { options }]) => options.readOnly !== true)
    .map(([name, { schema }]) => [name, anyValue(schema)]))
}

/** Of each group of alternatives of which one is required, the first represents all. */
function pickRequired (
  { fields }: Mapping,
  values: Readonly<Record<string, Arbitrary<unknown>>>
): Readonly<Record<string, Arbitrary<unknown>>> {
  const names = Object.keys(values).filter(name => fields[name]!.options.required === true)
  const isFirst = (name: string): boolean =>
    fields[name]!.options.choice === undefined ||
    names.find(other => fields[other]!.options.choice === fields[name]!.options.choice) === name
  return Object.fromEntries(names.filter(isFirst).map(name => [name, values[name]!]))
}

/**
 * Drops fields that cannot be combined; the fields of `retained` stay, also a shortcut, in place of its whole field.
 */
function dropConflicts ({ fields }: Mapping, simple: Simple, retained: Simple): Simple {
  const wholes = new Set(Object.keys(retained).map(name => fields[name]!.options.shortcutOf))
  const taken = new Map(Object.keys(retained).map(name => [fields[name]!.options.choice, name]))
  return Object.fromEntries(Object.entries(simple).filter(([name, value]) => {
    const { choice, shortcutOf } = fields[name]!.options
    if (wholes.has(name)) return false
    if (shortcutOf !== undefined && simple[shortcutOf] !== undefined && !Object.hasOwn(retained, name)) return false
    if (choice === undefined || value === null) return true
    if (!taken.has(choice)) taken.set(choice, name)
    return taken.get(choice) === name
  }))
}

const made = new WeakMap<Schema, Array<Arbitrary<unknown>>>()

/** A value that a schema accepts. Fails for an unknown keyword, so that no rule of a schema goes untested. */
function anyValue (schema: Schema, defs = schema.$defs ?? {}, references = 0): Arbitrary<unknown> {
  const byDepth = made.get(schema) ?? []
  made.set(schema, byDepth)
  return (byDepth[references] ??= make(schema, defs, references))
}

function make (schema: Schema, defs: Readonly<Record<string, Schema>>, references: number): Arbitrary<unknown> {
  refuseUnknown(schema)
  if (schema.$ref !== undefined) {
    return fc
      .constant(undefined)
      .chain(() => anyValue(defs[schema.$ref!.replace('#/$defs/', '')]!, defs, references + 1))
  }
  const anyInner = (inner: Schema): Arbitrary<unknown> => anyValue(inner, defs, references)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema.type === 'string') return anyText(schema)
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'integer') {
    return fc.integer({ min: schema.minimum ?? -1000, max: Math.min(schema.maximum ?? 1000, 100_000) })
  }
  if (schema.type === 'number') return anyNumber(schema)
  if (schema.type === 'array') {
    return fc.array(anyInner(schema.items!), {
      minLength: schema.minItems ?? 0,
      maxLength: Math.min(schema.maxItems ?? 3, 3)
    })
  }
  if (schema.type === 'object') return anyObject(schema, defs, references)
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(anyInner))
  throw new Error(`no value for ${JSON.stringify(schema)}`)
}

const understood = new Set([
  '$defs',
  '$ref',
  'additionalProperties',
  'anyOf',
  'dependentRequired',
  'dependentSchemas',
  'description',
  'enum',
  'examples',
  'format',
  'items',
  'maxItems',
  'maxLength',
  'maximum',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'not',
  'pattern',
  'properties',
  'readOnly',
  'required',
  'title',
  'type',
  'x-aliases',
  'x-expects',
  'x-ordered',
  'x-references',
  'x-shown',
  'x-bound',
  'x-display-of',
  'x-shown-as',
  'x-names'
])

function refuseUnknown (schema: Schema): void {
  const unknown = Object.keys(schema).filter(keyword => !understood.has(keyword))
  if (unknown.length > 0) throw new Error(`the generator does not know ${unknown.join()}`)
}

/** Objects with every set of members that the schema allows. */
function anyObject (schema: Schema, defs: Readonly<Record<string, Schema>>, references: number): Arbitrary<Simple> {
  const { properties = {}, required = [] } = schema
  const usable = Object.keys(properties).filter(
    name => required.includes(name) || references < deepestReference || !hasReference(properties[name]!)
  )
  const needs = fc.constantFrom(
    ...(schema.anyOf ?? [{}])
      .filter(({ required = [] }) => required.every(name => usable.includes(name)))
      .map(branch => [...required, ...(branch.required ?? [])])
  )
  const names = fc
    .tuple(needs, fc.subarray(usable))
    .map(([least, more]) => addNeeded(schema, dropForbidden(schema, [...new Set([...least, ...more])])))
    .map(chosen => (chosen.length > 0 ? chosen : [usable[0]!]))
  return names
    .chain(chosen =>
      record(
        Object.fromEntries(
          chosen.map(name => [name, anyValue(getMemberSchema(schema, chosen, name), defs, references)])
        )
      )
    )
    .map(value =>
      schema['x-ordered'] && !isOrdered(value.start, value.end)
        ? { ...value, start: value.end, end: value.start }
        : value
    )
}

const hasReference = (schema: Schema): boolean => JSON.stringify(schema).includes('"$ref"')

/** The names without those that an earlier one forbids. */
const dropForbidden = ({ dependentSchemas = {} }: Schema, names: readonly string[]): readonly string[] =>
  names.filter(
    (name, i) => !names.slice(0, i).some(earlier => dependentSchemas[earlier]?.properties?.[name]?.not !== undefined)
  )

/** The names with those that they depend on. */
function addNeeded (
  { dependentRequired = {}, dependentSchemas = {} }: Schema,
  names: readonly string[]
): readonly string[] {
  const needed = names.flatMap(name => [
    ...(dependentRequired[name] ?? []),
    ...(dependentSchemas[name]?.required ?? [])
  ])
  return [...new Set([...names, ...needed])]
}

/** The schema of a member, as narrow as the presence of another makes it. */
function getMemberSchema (
  { properties, dependentSchemas = {} }: Schema, chosen: readonly string[], name: string
): Schema {
  return (
    chosen.map(other => dependentSchemas[other]?.properties?.[name]).find(schema => schema !== undefined) ??
    properties![name]!
  )
}

function anyNumber ({ minimum = -1e6, maximum = 1e6 }: Schema): Arbitrary<unknown> {
  const isInRange = (value: number): boolean => value >= minimum && value <= maximum
  const exact = ['1.10', '0.50', '-0.0', '1e2', '2.50E+1', '0', '0.1234567890123456789']
    .filter(text => isInRange(Number(text)))
    .map(text => (String(Number(text)) === text ? Number(text) : new ExactNumber(text)))
  return fc.oneof(
    fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) }),
    fc.constantFrom(...exact),
    fc.double({ min: minimum, max: maximum, noNaN: true }).map(value => value + 0)
  )
}

function anyText (schema: Schema): Arbitrary<string> {
  if (schema['x-references'] !== undefined) return anyReference(schema['x-references'])
  const { format, pattern, maxLength = Infinity } = schema
  const fits = (text: string): boolean =>
    [...text].length <= maxLength && (pattern === undefined || new RegExp(pattern, 'u').test(text))
  return (format === undefined ? anyTextMatching(pattern!) : texts[format]).filter(fits)
}

const matching = new Map<string, Arbitrary<string>>()

/** Created once for all the fields that have the pattern. */
function anyTextMatching (pattern: string): Arbitrary<string> {
  const known = matching.get(pattern) ?? fc.stringMatching(new RegExp(pattern))
  matching.set(pattern, known)
  return known
}

function anyReference (types: readonly string[]): Arbitrary<string> {
  const id = fc.stringMatching(/^[A-Za-z0-9-][A-Za-z0-9.-]{0,20}$/)
  const type = fc.constantFrom(...types.map(type => type === 'any' ? 'Substance' : type))
  return fc.oneof(id, fc.tuple(type, id).map(parts => parts.join('/')))
}

const grapheme = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
const trimmed = grapheme.map(text => text.trim()).filter(text => text !== '')
// eslint-disable-next-line no-control-regex -- R4 has none of these in a string.
const printing = trimmed.filter(text => !/[\u0000-\u001F\u007F]/.test(text))
const day = fc
  .date({ min: new Date('1890-01-01'), max: new Date('2199-12-31'), noInvalidDate: true })
  .map(date => date.toISOString().slice(0, 10))
const clock = fc
  .tuple(fc.date({ noInvalidDate: true }), fc.constantFrom('', '.5', '.123456789'))
  .map(([date, fraction]) => date.toISOString().slice(-13, -5) + fraction)
const zone = fc.constantFrom('Z', '+00:00', '-05:00', '+05:30', '+14:00')
const instant = fc.tuple(day, clock, zone).map(([day, clock, zone]) => `${day}T${clock}${zone}`)
const date = fc.tuple(day, fc.constantFrom(4, 7, 10)).map(([day, length]) => day.slice(0, length))

const unreserved = [..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@"]
const pathLetter = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...unreserved) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }).map(encodeURIComponent) }
)
/** Like `fc.webUrl()`, which takes a second of each process to list a million letters that it could shrink to. */
const webUrl = fc
  .tuple(
    fc.constantFrom('http', 'https'),
    fc.domain(),
    fc.array(fc.string({ unit: pathLetter, maxLength: 10 }), { maxLength: 4 })
  )
  .map(([scheme, host, path]) => `${scheme}://${host}${path.map(segment => `/${segment}`).join('')}`)

const uri = fc.oneof(
  webUrl,
  fc.constantFrom('urn:oid:2.16.840.1.113883.4.1', 'http://loinc.org', 'http://hl7.org/fhir/sid/us-npi')
)

const words = fc
  .array(
    printing.filter(text => !/\s/.test(text)),
    { minLength: 1, maxLength: 3 }
  )
  .map(words => words.join(' '))

const texts: Readonly<Record<Format, Arbitrary<string>>> = {
  text: fc.oneof(printing, fc.constantFrom('two\nlines', 'a  b', '<b>&amp;', 'Ünïcode 李 🙂')),
  words,
  code: words,
  date,
  'fhir-dateTime': fc.oneof(date, instant),
  'fhir-instant': instant,
  'fhir-time': clock,
  'time-of-day': fc.oneof(clock, clock.map(time => time.slice(0, 5))),
  'instant-or-day': fc.oneof(instant, instant.map(time => time.slice(0, 10))),
  uri,
  'uri-reference': fc.oneof(uri, fc.constantFrom('#frag', 'a/b')),
  base64: fc.uint8Array({ minLength: 1, maxLength: 30 }).map(bytes => Buffer.from(bytes).toString('base64')),
  npi: fc.stringMatching(/^[12]\d{8}$/).map(withLuhnDigit)
}

/** Nine digits with the check digit of an NPI: the constant 24 represents the prefix 80840. */
function withLuhnDigit (digits: string): string {
  const sum = [...digits].reduce((total, digit, index) => {
    const weighed = index % 2 === 0 ? Number(digit) * 2 : Number(digit)
    return total + (weighed > 9 ? weighed - 9 : weighed)
  }, 24)
  return digits + (10 - sum % 10) % 10
}
