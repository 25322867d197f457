/**
 * Resources as another system may have stored them: structurally valid R4 with everything that a simple form does not
 * show.
 */
import fc, { type Arbitrary } from 'fast-check'
import { ExactNumber, printJson } from '../../src/json/json.js'
import type { FhirElement, FhirResource } from '../../src/mappings/fhir.js'
import { toChoiceName, isPrimitive, listParts, type Part, type PartType } from './definitions.js'

/** An object as a JSON parser makes it. */
const record = <T>(members: { [K in keyof T]: Arbitrary<T[K]> }): Arbitrary<T> =>
  fc.record(members, { noNullPrototype: true }) as Arbitrary<T>

/** The probability of an optional element, in percent, by the depth of its parent; nothing optional is deeper. */
const presence = [55, 45, 35, 25, 15]

/**
 * A resource of a type. It satisfies cardinality, types, required bindings and the invariants of the datatypes, not
 * those of the resource.
 */
export function anyR4Resource (type: string): Arbitrary<FhirResource> {
  return record({
    id: idText,
    meta: optional(
      60,
      record({
        versionId: fc.constantFrom('1', '7'),
        lastUpdated: instantText,
        tag: fc.constant([{ system: 'urn:clinigate:tenant', code: 't1' }])
      })
    ),
    text: optional(
      30,
      fc.constant({ status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml"><p>as it was</p></div>' })
    ),
    modifierExtension: optional(10, extensions),
    body: anyElement(type, 0)
  }).map(
    ({ id, meta, text, modifierExtension, body: { id: _, ...body } }) =>
      withoutAbsent({
        resourceType: type,
        id,
        meta,
        text,
        contained: buildContained(body),
        modifierExtension,
        ...body
      }) as FhirResource
  )
}

/** The contained resource to which a body refers, if any. */
function buildContained (body: FhirElement): readonly FhirElement[] | undefined {
  return printJson(body).includes('"#inside"')
    ? [{ resourceType: 'Organization', id: 'inside', name: 'contained' }]
    : undefined
}

const optional = <T>(percent: number, arbitrary: Arbitrary<T>): Arbitrary<T | undefined> =>
  fc.oneof({ weight: 100 - percent, arbitrary: fc.constant(undefined) }, { weight: percent, arbitrary })

const withoutAbsent = (members: Readonly<Record<string, unknown>>): FhirElement =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const word = fc.constantFrom('Ada', 'de la Cruz', 'Müller', '李', 'O’Neil', 'x', 'a  b', 'line\nbreak', '🙂')
const uriText = fc.constantFrom(
  'http://example.org/a',
  'urn:oid:1.2.3',
  'http://hl7.org/fhir/sid/us-npi',
  'urn:dicom:uid',
  'http://loinc.org',
  'http://snomed.info/sct',
  'http://unitsofmeasure.org'
)
const idText = fc.constantFrom('1', 'a-b.c', '00000000-0000-4000-8000-000000000000', 'Z'.repeat(64))
const dayText = fc.constantFrom('1890-01-01', '1990-03-14', '2024-02-29', '2026-12-31')
const clockText = fc.constantFrom('T00:00:00Z', 'T09:30:00.123+02:00', 'T23:59:59-14:00')
const instantText = fc.tuple(dayText, clockText).map(([day, clock]) => day + clock)
const dateText = fc.tuple(dayText, fc.constantFrom(4, 7, 10)).map(([day, length]) => day.slice(0, length))
const decimalNumber = fc.oneof(
  fc.constantFrom('1.10', '0.50', '1e2', '100.0', '123456789012345678901.5').map(text => new ExactNumber(text)),
  fc.integer({ min: -1000, max: 1000 }), fc.constantFrom(0.1, 36.6, 1234.5678))

const primitives: Readonly<Record<string, Arbitrary<unknown>>> = {
  boolean: fc.boolean(),
  integer: fc.integer({ min: -5, max: 100 }),
  unsignedInt: fc.nat(100),
  positiveInt: fc.integer({ min: 1, max: 100 }),
  decimal: decimalNumber,
  string: word,
  markdown: fc.constantFrom('# a\n\ntext', 'plain'),
  code: fc.constantFrom('some-code', 'en', 'A1'),
  id: idText,
  oid: fc.constant('urn:oid:1.2.3'),
  uuid: fc.constant('urn:uuid:c757873d-ec9a-4326-a141-556f43239520'),
  uri: uriText,
  url: uriText,
  canonical: uriText,
  base64Binary: fc.constantFrom('aGVsbG8=', 'AA==', 'AAAA'),
  date: dateText,
  dateTime: fc.oneof(dateText, instantText),
  instant: instantText,
  time: fc.constantFrom('00:00:00', '23:59:59.999', '09:30:00'),
  xhtml: fc.constant('<div xmlns="http://www.w3.org/1999/xhtml">x</div>')
}

const extensions: Arbitrary<FhirElement[]> = fc.array(fc.oneof(
  record({ url: uriText, valueString: word }),
  record({ url: uriText, valueDecimal: decimalNumber }),
  fc.constant({ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'unknown' }),
  record({ url: uriText, extension: fc.constant([{ url: 'part', valueBoolean: true }]) })
), { minLength: 1, maxLength: 2 })

/** The extensions and id of a primitive under its name with `_`. */
const primitiveExtra = fc.oneof(record({ extension: extensions }), record({ id: idText }))

const resourceTypes = ['Patient', 'Practitioner', 'Organization', 'Observation', 'RelatedPerson', 'Group']

function anyReference (targets: readonly string[]): Arbitrary<FhirElement> {
  const local = fc
    .tuple(fc.constantFrom(...(targets.length === 0 ? resourceTypes : targets)), idText)
    .map(([type, id]) => `${type}/${id}`)
  const identifier = record({ system: uriText, value: word })
  return fc.oneof(
    { weight: 5, arbitrary: local.map(reference => ({ reference })) },
    { weight: 2, arbitrary: record({ reference: local, display: word, extension: extensions }) },
    { weight: 1, arbitrary: record({ reference: local.map(text => `${text}/_history/3`) }) },
    { weight: 1, arbitrary: record({ reference: local.map(text => `http://other.example/fhir/${text}`) }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        ...(targets.length === 0 || targets.includes('Organization') ? [{ reference: '#inside' }] : []),
        { reference: 'urn:uuid:c757873d-ec9a-4326-a141-556f43239520' }
      )
    },
    { weight: 1, arbitrary: record({ identifier, display: word }) },
    { weight: 1, arbitrary: record({ display: word }) }
  )
}

function anyCoding ({ codings, bound }: Part): Arbitrary<FhirElement> {
  const known = codings.slice(0, 40).map(({ system, code, display }) => withoutAbsent({ system, code, display }))
  const unknown = fc.oneof(
    record({
      system: uriText,
      code: fc.constantFrom('123-4', 'x'),
      display: word,
      version: fc.constant('2'),
      userSelected: fc.boolean()
    }),
    record({ system: uriText, code: fc.constantFrom('123-4', 'x') }),
    record({ display: word }),
    record({ system: uriText }),
    record({ extension: extensions })
  )
  if (known.length === 0) return unknown
  return bound ? fc.constantFrom(...known) : fc.oneof(fc.constantFrom(...known), unknown)
}

function anyConcept (part: Part): Arbitrary<FhirElement> {
  return fc.oneof(
    ...part.bound && part.codings.length > 0 ? [] : [record({ text: word })],
    record({ coding: fc.array(anyCoding(part), { minLength: 1, maxLength: 3 }) }),
    record({ text: word, coding: fc.array(anyCoding(part), { minLength: 1, maxLength: 2 }), extension: extensions }),
    record({ extension: extensions })
  )
}

const anyQuantity = (more: Readonly<Record<string, Arbitrary<unknown>>> = {}): Arbitrary<FhirElement> =>
  fc.oneof(
    record({ value: decimalNumber, unit: word, ...more }),
    record({
      value: decimalNumber,
      unit: fc.constant('min'),
      system: fc.constant('http://unitsofmeasure.org'),
      code: fc.constantFrom('min', 'h', 'd', 'wk', 's', 'mg')
    }),
    record({ value: decimalNumber }),
    record({ unit: word }),
    record({ value: decimalNumber, extension: extensions })
  )

const comparator = { comparator: fc.constantFrom('<', '<=', '>=', '>') }
const nonNegative = fc.integer({ min: 1, max: 90 })

/** The datatypes whose own invariants a part-by-part generator would break. */
const datatypes: Readonly<Record<string, (part: Part, type: PartType) => Arbitrary<FhirElement>>> = {
  Reference: (_, { targets }) => anyReference(targets),
  Coding: anyCoding,
  CodeableConcept: anyConcept,
  Quantity: () => anyQuantity(comparator),
  MoneyQuantity: () => anyQuantity(),
  SimpleQuantity: () => anyQuantity(),
  Count: () => record({ value: nonNegative, system: fc.constant('http://unitsofmeasure.org'), code: fc.constant('1') }),
  Age: () =>
    record({ value: nonNegative, system: fc.constant('http://unitsofmeasure.org'), code: fc.constantFrom('a', 'mo') }),
  Duration: () =>
    record({
      value: nonNegative,
      system: fc.constant('http://unitsofmeasure.org'),
      code: fc.constantFrom('min', 'h', 'd', 'wk', 's', 'mo')
    }),
  Distance: () =>
    record({ value: nonNegative, system: fc.constant('http://unitsofmeasure.org'), code: fc.constantFrom('cm', 'm') }),
  Period: () =>
    fc.oneof(
      record({ start: dateText }),
      record({ end: instantText }),
      fc.constant({ start: '1990', end: '2020-01' }),
      record({
        start: fc.constant('1990-01-01'),
        end: instantText.filter(text => text > '1990-03'),
        extension: extensions
      })
    ),
  Range: () =>
    fc.oneof(
      record({ low: fc.constant({ value: 1, unit: 'g' }), high: fc.constant({ value: 2, unit: 'g' }) }),
      record({ low: fc.constant({ value: new ExactNumber('1.0') }) })
    ),
  Ratio: () =>
    fc.oneof(
      record({ numerator: anyQuantity(comparator), denominator: anyQuantity() }),
      record({ extension: extensions })
    ),
  Timing: () =>
    fc.oneof(
      fc.constant({ repeat: { frequency: 2, period: 1, periodUnit: 'd' } }),
      fc.constant({ event: ['2026-01-01'] }),
      record({ code: record({ text: word }) }),
      fc.constant({
        repeat: { boundsPeriod: { start: '2026' }, count: 3, duration: 1, durationUnit: 'h', when: ['MORN'] }
      })
    ),
  Narrative: () => fc.constant({ status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' }),
  Meta: () => fc.constant({ versionId: '1' }),
  Resource: () => fc.constant({ resourceType: 'Organization', id: 'o1', name: 'inside' }),
  Extension: () => extensions.map(([first]) => first!)
}

const elements = new Map<string, Arbitrary<FhirElement>>()

/** An element of a type at a depth, at times with an id and extensions. */
function anyElement (path: string, depth: number): Arbitrary<FhirElement> {
  const key = `${path} ${depth}`
  const known = elements.get(key)
  if (known !== undefined) return known
  const percent = presence[depth] ?? 0
  const members = listParts(path)
    .filter(part => part.required || percent > 0)
    .filter(part => !['meta', 'text'].includes(part.name) || depth > 0)
    .map(part => part.required ? anyMember(part, depth) : optional(percent, anyMember(part, depth)))
  const made = fc
    .tuple(optional(15, idText), optional(25, extensions), ...members)
    .map(([id, extension, ...parts]) => withoutAbsent(Object.assign({ id, extension }, ...parts)))
    .map(content =>
      Object.keys(content).every(name => name === 'id')
        ? { extension: [{ url: 'http://example.org/empty', valueBoolean: true }] }
        : content
    )
  elements.set(key, made)
  return made
}

/** A part under its name, with the sibling of a primitive. */
function anyMember (part: Part, depth: number): Arbitrary<FhirElement> {
  const choice = part.name.endsWith('[x]')
  // Of the open types (Extension.value, Task.input.value) a few represent all fifty.
  const types =
    part.types.length > 20
      ? part.types.filter(({ code }) =>
        ['string', 'boolean', 'decimal', 'CodeableConcept', 'Reference', 'Quantity'].includes(code)
      )
      : part.types
  return fc.oneof(...types.map(type => {
    const name = choice ? toChoiceName(part, type.code) : part.name
    const value = anyValue(part, type, depth)
    if (!isPrimitive(type.code)) {
      return (part.many ? fc.array(value, { minLength: 1, maxLength: depth < 2 ? 3 : 2 }) : value).map(value => ({
        [name]: value
      }))
    }
    return part.many ? anyPrimitiveList(name, value) : anyPrimitive(name, value, part.required)
  }))
}

function anyValue (part: Part, type: PartType, depth: number): Arbitrary<unknown> {
  if (type.code === 'code' && part.bound && part.codings.length > 0) {
    return fc.constantFrom(...part.codings.map(({ code }) => code))
  }
  const known = primitives[type.code] ?? datatypes[type.code]?.(part, type)
  return known ?? fc.constant(undefined).chain(() => anyElement(type.code, depth + 1))
}

function anyPrimitive (name: string, value: Arbitrary<unknown>, required: boolean): Arbitrary<FhirElement> {
  const plain = value.map(value => ({ [name]: value }))
  const both = fc.tuple(value, primitiveExtra).map(([value, extra]) => ({ [name]: value, [`_${name}`]: extra }))
  const alone = primitiveExtra.map(extra => ({ [`_${name}`]: extra }))
  return fc.oneof(
    { weight: 8, arbitrary: plain },
    { weight: 2, arbitrary: both },
    ...(required ? [] : [{ weight: 1, arbitrary: alone }])
  )
}

/** A list of primitives whose extras are in a second list at the same positions; a position may hold an extra alone. */
function anyPrimitiveList (name: string, value: Arbitrary<unknown>): Arbitrary<FhirElement> {
  const anyItems = (least: number, item: Arbitrary<[unknown, unknown]>) =>
    fc.array(item, { minLength: least, maxLength: 3 })
  const plain = anyItems(1, fc.tuple(value, fc.constant(null)))
  const extended = anyItems(
    1,
    fc.oneof(
      { weight: 3, arbitrary: fc.tuple(value, fc.constant(null)) },
      { weight: 2, arbitrary: fc.tuple(value, primitiveExtra) },
      { weight: 1, arbitrary: fc.tuple(fc.constant(null), primitiveExtra) }
    )
  )
  return fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: extended }).map(pairs => withoutAbsent({
    [name]: pairs.every(([value]) => value === null) ? undefined : pairs.map(([value]) => value),
    [`_${name}`]: pairs.every(([, extra]) => extra === null) ? undefined : pairs.map(([, extra]) => extra)
  }))
}
