import type { FilterKind } from './schema.js'

/** One filter of a resource: the R4 search parameter behind it and how its values are written there. */
export interface Filter {
  readonly param: string
  readonly kind: FilterKind
  /** For references: the types that the id may name; a bare id means the first. */
  readonly types?: readonly string[]
  /** For canonicals: the type of the records whose id may be sent in place of their `url`. */
  readonly canonicalOf?: string
  /** The prefix of every value in the datastore: `system|`, and other parts that the simple form leaves out. */
  readonly prefix?: string
  /** All codes that are possible; absent if others may be stored. */
  readonly codes?: readonly string[]
  /** Other spellings of a value. */
  readonly aliases?: Readonly<Record<string, unknown>>
  /** Whether the element is a CodeableConcept, so that `<filter>:text` finds by words. */
  readonly hasText?: boolean
  /** Whether the words of a value may be in several elements, in any order, as those of a person's name. */
  readonly byWords?: true
  /** The elements that the gateway itself searches, where R4 has no search parameter and `param` is `noParameter`. */
  readonly paths?: readonly string[]
}

/** In place of a search parameter that R4 does not have: the gateway searches the records itself. */
export const noParameter = ''

/**
 * The kinds that take one value, since HAPI takes no list of dates. The others take several, separated by commas, any
 * of which may match.
 */
export const singleValueKinds: ReadonlySet<FilterKind> = new Set<FilterKind>(['string', 'uri', 'date', 'from', 'until'])

const prefixed = '(?:eq|ne|gt|lt|ge|le)?-?\\d+(?:\\.\\d+)?'

/** The forms of values that are more than text, as regular expressions. */
export const valueForms = {
  canonical: '(?:https?://|urn:)\\S+',
  number: prefixed,
  quantity: `${prefixed}(?:\\|[^|]*\\|[^|]+)?`
} as const

export type Filters = Readonly<Record<string, Filter>>

/**
 * The filters that cannot be combined with one: HAPI takes one lower and one upper bound for each date parameter, and
 * an exact date is both.
 */
export function listConflictingFilters (filters: Filters, name: string): string[] {
  const bounds = getBounds(filters[name])
  return Object.keys(filters).filter(
    other =>
      other !== name &&
      filters[other]!.param === filters[name]?.param &&
      getBounds(filters[other]).some(bound => bounds.includes(bound))
  )
}

/**
 * The search parameter by which `sort=date` sorts: that of the time the record is about, else of the first of its times
 * that is a filter, else of its last change.
 */
export function getDateParameter (filters: Filters): string {
  const named = filters.date ?? filters.dateFrom ?? filters.dateTo
  const first = Object.values(filters).find(({ kind }) => kind === 'from' || kind === 'until')
  return (named ?? first)?.param ?? '_lastUpdated'
}

const getBounds = (filter: Filter | undefined): readonly FilterKind[] =>
  filter?.kind === 'date' ? ['from', 'until'] : filter?.kind === 'from' || filter?.kind === 'until' ? [filter.kind] : []

const filterBy = (kind: FilterKind) => (param: string): Filter => ({ param, kind })

/** Words that begin with the value, in any case. */
export const byText = filterBy('string')
/** The names of a person, in any order: each word of the value is found in one of them. */
export const byWords = (param: string): Filter => ({ param, kind: 'string', byWords: true })
/** A code that has no words: an identifier, a version, the name of a place. */
export const byCode = filterBy('token')
/** A code, or `system|code`; the start of its words by `<filter>:text`. */
export const byToken = (param: string): Filter => ({ param, kind: 'token', hasText: true })
export const byDate = filterBy('date')
/** The first moment that still counts. */
export const from = filterBy('from')
/** The last moment that still counts; a day alone covers the whole day. */
export const until = filterBy('until')
/** A bare id of the first type, or `Type/id`. */
export const byReference = (param: string, ...types: readonly string[]): Filter => ({ param, kind: 'reference', types })
