import { plainNumbers } from '../json/json.js'
import type { FhirElement, FhirResource } from '../mappings/fhir.js'
import { isElement } from '../mappings/core/path.js'
import { dateRange, timeRange, writtenRange, type Range } from './date-range.js'
import { readReference } from './references.js'
import { parametersOf, type ParameterKind } from './search-parameters.js'

/** One value that a search can find a resource by. */
interface IndexRow {
  readonly parameter: string
  /** A token's or quantity's system, a reference's type, a string as it was written. */
  readonly system: string | null
  /** A code, an id, a URI, a string as {@link normalized}. */
  readonly value: string | null
  /** Numbers and times in milliseconds, from and to. */
  readonly low: number | null
  readonly high: number | null
}

type Value = Omit<IndexRow, 'parameter'>

/** Next to a token's own rows: its texts, for the modifier `:text`. */
export const textSuffix = ':text'

/** Next to a time's own rows: the same as it was written, for a search by day, month or year. */
export const writtenSuffix = ':written'

/** All values that searches of the resource's type look at. */
export function indexRows (resource: FhirResource): IndexRow[] {
  const plain = plainNumbers(resource)
  return [...parametersOf(resource.resourceType).values()].flatMap(({ name, kind, values }) => {
    const found = values(plain)
    return readings(name, kind).flatMap(({ parameter, read }) =>
      found.flatMap(read).map(value => ({ parameter, ...value }))
    )
  })
}

function readings (name: string, kind: ParameterKind): Array<{ parameter: string, read: Reader }> {
  const own = { parameter: name, read: readers[kind] }
  if (kind === 'token') return [own, { parameter: name + textSuffix, read: texts }]
  if (kind === 'date') return [own, { parameter: name + writtenSuffix, read: times(writtenRange) }]
  return [own]
}

/** Text as a search compares it: without case and accents. */
export function normalized (text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}

type Reader = (value: unknown) => Value[]

const readers: Record<ParameterKind, Reader> = {
  date: times(dateRange),
  number: value => ranges(amounts(value)),
  quantity: quantities,
  reference: references,
  string: value => strings(value).map(stringValue),
  token: tokens,
  uri: value => typeof value === 'string' ? [exact(null, value)] : []
}

function exact (system: string | null, value: string | null): Value {
  return { system, value, low: null, high: null }
}

function stringValue (text: string): Value {
  return exact(text, normalized(text))
}

function ranges (found: readonly Range[]): Value[] {
  return found.map(({ low, high }) => ({ system: null, value: null, low, high }))
}

function tokens (value: unknown): Value[] {
  if (!isElement(value)) {
    return ['string', 'number', 'boolean'].includes(typeof value) ? [exact(null, String(value))] : []
  }
  if (Array.isArray(value['coding'])) return value['coding'].flatMap(tokens)
  const code = text(value['code']) ?? text(value['value'])
  const system = text(value['system'])
  return code === null && system === null ? [] : [exact(system, code)]
}

function texts (value: unknown): Value[] {
  if (!isElement(value)) return []
  const codings = Array.isArray(value['coding']) ? value['coding'].flatMap(texts) : []
  return [...present(value['text']), ...present(value['display'])].map(stringValue).concat(codings)
}

function strings (value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (!isElement(value)) return []
  // The parts of a HumanName and of an Address.
  const parts = [
    'family',
    'given',
    'prefix',
    'suffix',
    'text',
    'line',
    'city',
    'district',
    'state',
    'postalCode',
    'country'
  ]
  return parts.flatMap(part => present(value[part]))
}

function references (value: unknown): Value[] {
  if (typeof value === 'string') return canonicals(value)
  const target = isElement(value) ? text(value['reference']) : null
  if (target === null) return []
  const read = readReference(target)
  return read.kind === 'resource' ? [exact(read.type, read.id)] : []
}

/** The URL of a definition with and without its version, or as HAPI reads it too, a reference to one of this store. */
function canonicals (url: string): Value[] {
  const read = readReference(url)
  if (read.kind === 'resource') return [exact(read.type, read.id)]
  const [bare] = url.split('|') as [string]
  return [...new Set([url, bare])].map(value => exact(null, value))
}

function times (read: (text: string) => Range | undefined): Reader {
  return value => ranges([timeRange(value, read)].filter(range => range !== undefined))
}

function amounts (value: unknown): Range[] {
  if (typeof value === 'number') return [{ low: value, high: value }]
  if (!isElement(value)) return []
  if (typeof value['value'] === 'number') return amounts(value['value'])
  const [low, high] = [value['low'], value['high']].map(end => isElement(end) ? end['value'] : undefined)
  if (typeof low !== 'number' && typeof high !== 'number') return []
  return [{ low: Number(low ?? -Infinity), high: Number(high ?? Infinity) }]
}

const currencies = 'urn:iso:std:iso:4217'

function quantities (value: unknown): Value[] {
  if (!isElement(value)) return []
  const unit = [value, value['low'], value['high']].find(end => isElement(end) && 'value' in end) as
    FhirElement | undefined
  const currency = text(value['currency'])
  const system = currency === null ? text(unit?.['system']) : currencies
  const code = currency ?? text(unit?.['code']) ?? text(unit?.['unit'])
  return ranges(amounts(value)).map(range => ({ ...range, system, value: code }))
}

function text (value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function present (value: unknown): string[] {
  return Array.isArray(value) ? value.flatMap(present) : typeof value === 'string' ? [value] : []
}
