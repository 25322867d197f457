import { toPlainNumbers } from '../json/json.js'
import type { FhirElement, FhirResource } from '../mappings/fhir.js'
import { isElement } from '../mappings/core/path.js'
import { parseDateRange, toTimeRange, parseLocalRange, type Range } from './date-range.js'
import { readReference } from './references.js'
import { getSearchParameters, type ParameterKind } from './search-parameters.js'

/** One value that a search can find a resource by. */
interface IndexRow {
  readonly parameter: string
  /** A token's or quantity's system, a reference's type, a string as it was written. */
  readonly system: string | null
  /** A code, an id, a URI, a string as {@link normalizeText}. */
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

/** All values that searches of the resource's type use. */
export function buildIndexRows (resource: FhirResource): IndexRow[] {
  const plain = toPlainNumbers(resource)
  return [...getSearchParameters(resource.resourceType).values()].flatMap(({ name, kind, values }) => {
    const found = values(plain)
    return listReaders(name, kind).flatMap(({ parameter, read }) =>
      found.flatMap(read).map(value => ({ parameter, ...value }))
    )
  })
}

function listReaders (name: string, kind: ParameterKind): Array<{ parameter: string, read: Reader }> {
  const own = { parameter: name, read: readers[kind] }
  if (kind === 'token') return [own, { parameter: name + textSuffix, read: toTextRows }]
  if (kind === 'date') return [own, { parameter: name + writtenSuffix, read: createTimeReader(parseLocalRange) }]
  return [own]
}

/** Text as a search compares it: without case and accents. */
export function normalizeText (text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}

type Reader = (value: unknown) => Value[]

const readers: Record<ParameterKind, Reader> = {
  date: createTimeReader(parseDateRange),
  number: value => toRangeRows(toRanges(value)),
  quantity: toQuantityRows,
  reference: toReferenceRows,
  string: value => collectStrings(value).map(toStringRow),
  token: toTokenRows,
  uri: value => typeof value === 'string' ? [toExactRow(null, value)] : []
}

function toExactRow (system: string | null, value: string | null): Value {
  return { system, value, low: null, high: null }
}

function toStringRow (text: string): Value {
  return toExactRow(text, normalizeText(text))
}

function toRangeRows (found: readonly Range[]): Value[] {
  return found.map(({ low, high }) => ({ system: null, value: null, low, high }))
}

function toTokenRows (value: unknown): Value[] {
  if (!isElement(value)) {
    return ['string', 'number', 'boolean'].includes(typeof value) ? [toExactRow(null, String(value))] : []
  }
  if (Array.isArray(value['coding'])) return value['coding'].flatMap(toTokenRows)
  const code = toStringOrNull(value['code']) ?? toStringOrNull(value['value'])
  const system = toStringOrNull(value['system'])
  return code === null && system === null ? [] : [toExactRow(system, code)]
}

function toTextRows (value: unknown): Value[] {
  if (!isElement(value)) return []
  const codings = Array.isArray(value['coding']) ? value['coding'].flatMap(toTextRows) : []
  return [...flattenStrings(value['text']), ...flattenStrings(value['display'])].map(toStringRow).concat(codings)
}

function collectStrings (value: unknown): string[] {
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
  return parts.flatMap(part => flattenStrings(value[part]))
}

function toReferenceRows (value: unknown): Value[] {
  if (typeof value === 'string') return toCanonicalRows(value)
  const target = isElement(value) ? toStringOrNull(value['reference']) : null
  if (target === null) return []
  const read = readReference(target)
  return read.kind === 'resource' ? [toExactRow(read.type, read.id)] : []
}

/** The URL of a definition with and without its version, or as HAPI reads it too, a reference to one of this store. */
function toCanonicalRows (url: string): Value[] {
  const read = readReference(url)
  if (read.kind === 'resource') return [toExactRow(read.type, read.id)]
  const [bare] = url.split('|') as [string]
  return [...new Set([url, bare])].map(value => toExactRow(null, value))
}

function createTimeReader (read: (text: string) => Range | undefined): Reader {
  return value => toRangeRows([toTimeRange(value, read)].filter(range => range !== undefined))
}

function toRanges (value: unknown): Range[] {
  if (typeof value === 'number') return [{ low: value, high: value }]
  if (!isElement(value)) return []
  if (typeof value['value'] === 'number') return toRanges(value['value'])
  const [low, high] = [value['low'], value['high']].map(end => isElement(end) ? end['value'] : undefined)
  if (typeof low !== 'number' && typeof high !== 'number') return []
  return [{ low: Number(low ?? -Infinity), high: Number(high ?? Infinity) }]
}

const currencies = 'urn:iso:std:iso:4217'

function toQuantityRows (value: unknown): Value[] {
  if (!isElement(value)) return []
  const unit = [value, value['low'], value['high']].find(end => isElement(end) && 'value' in end) as
    FhirElement | undefined
  const currency = toStringOrNull(value['currency'])
  const system = currency === null ? toStringOrNull(unit?.['system']) : currencies
  const code = currency ?? toStringOrNull(unit?.['code']) ?? toStringOrNull(unit?.['unit'])
  return toRangeRows(toRanges(value)).map(range => ({ ...range, system, value: code }))
}

function toStringOrNull (value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function flattenStrings (value: unknown): string[] {
  return Array.isArray(value) ? value.flatMap(flattenStrings) : typeof value === 'string' ? [value] : []
}
