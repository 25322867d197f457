import type { ReadRequest } from '../backends/backend.js'
import { Failure } from '../envelope/failures.js'
import { isOutOfRange } from '../json/json.js'
import { findSearchParameter } from '../mappings/r4/search-parameters.js'
import { escapeSearchValue, splitUnescaped } from '../fhir/search-escaping.js'
import type { SearchParameter } from './interaction.js'
import { supportsModifier } from './modifiers.js'
import { isTenantSystem, type Tenant } from './tenant.js'

/** A search of one type, with parameters that a client may have chosen. */
export interface SearchRequest {
  readonly type: string
  readonly parameters: readonly SearchParameter[]
  /** Entries per page; 0 requests only the number of matches. */
  readonly count: number
  /**
   * How exact the number of all matches must be, which costs a second query in the datastore; if absent, the datastore
   * decides.
   */
  readonly total?: 'accurate' | 'estimate' | 'none' | undefined
  /** The guard's own parameters for the response, such as `_elements` and `_include`. */
  readonly shape?: readonly SearchParameter[]
}

/** Longer request lines are refused by some servers; 8 KiB is the usual bound. */
const maxPath = 6_000
const maxEntries = 1_000

/**
 * The first page of a search among the tenant's own records. The tag is a condition of its own, and FHIR joins
 * conditions by AND, so no other parameter can widen the result. In a search by form, all that the guard adds is in the
 * URL and in the form.
 * @throws {Failure} UNKNOWN_FILTER or BAD_REQUEST for a parameter that reaches beyond the records themselves
 */
export function restrict (
  { type, parameters, count, total, shape = [] }: SearchRequest,
  tenant: Tenant
): ReadRequest {
  if (!Number.isInteger(count) || count < 0 || count > maxEntries) {
    throw invalidSearch(`count must be from 0 to ${maxEntries}.`)
  }
  const requested = encodeHarmless(type, parameters, tenant)
  const page: SearchParameter[] = [
    ['_count', String(count)],
    ...(total === undefined ? [] : [['_total', total] as const])
  ]
  const own = encodeParameters([['_tag', formatTenantToken(tenant)], ...page, ...shape])
  const path = `${type}?${requested === '' ? '' : `${requested}&`}${own}`
  if (path.length <= maxPath) return { method: 'GET', path }
  // Some servers read only the form, others only the URL, and HAPI ignores a form that it does not recognize as one.
  return {
    method: 'POST',
    path: `${type}/_search?${own}`,
    form: [requested, own].filter(part => part !== '').join('&')
  }
}

/**
 * The Cache-Control of a search whose first page alone is read. Without no-cache HAPI would respond from an earlier
 * search for a minute; no-store prevents it from storing this one, and cuts the result at 100 matches unless more are
 * requested.
 */
export const toSinglePageCacheControl = (maxMatches: number): string => `no-cache, no-store, max-results=${maxMatches}`

/** Makes a server refuse an unknown parameter, which it might otherwise ignore and so show too much. */
export const strictHandling = { prefer: 'handling=strict' }

/**
 * The shape of a search that needs only the identity of each match, and perhaps some elements. Bundles are returned
 * whole, because HAPI would apply `_elements` to its response, which is a Bundle too.
 */
export const getIdentityElements = (type: string, elements: readonly string[] = []): readonly SearchParameter[] =>
  type === 'Bundle' ? [] : [['_elements', ['id', 'meta', ...elements].join(',')]]

/**
 * Conditions on the tenant's own records, encoded: those of a conditional write, and of a client's criteria.
 * @throws {Failure} as {@link restrict}
 */
export function encodeTenantCriteria (
  { type, parameters }: Pick<SearchRequest, 'type' | 'parameters'>,
  tenant: Tenant
): string {
  return [encodeHarmless(type, parameters, tenant), encodeParameters([['_tag', formatTenantToken(tenant)]])]
    .filter(part => part !== '')
    .join('&')
}

function encodeHarmless (type: string, parameters: readonly SearchParameter[], tenant: Tenant): string {
  for (const parameter of parameters) {
    requireHarmless(type, parameter, tenant)
    requireShortNumbers(type, parameter)
  }
  return encodeParameters(parameters.map(parameter => expandPartialDates(type, parameter)))
}

/** The value of `_tag` that only the tenant's records match. */
export function formatTenantToken ({ system, id }: Tenant): string {
  return `${escapeSearchValue(system)}|${escapeSearchValue(id)}`
}

/** Parameters that begin with `_` and search nothing but the record itself. HAPI silently ignores a misspelt one. */
const harmlessControls = new Set(['_id', '_lastUpdated', '_profile', '_security', '_sort', '_source', '_tag'])
/** Azure's name for the place of a page in a result. */
const azurePage = 'ct'

function requireHarmless (type: string, [name, value]: SearchParameter, tenant: Tenant): void {
  // A dot would be a chain: a look into other records, which the tag does not restrict.
  const [, base, modifier] = /^(_?[a-z][A-Za-z0-9_-]*)(?::([A-Za-z-]+))?$/.exec(name) ?? []
  if (base === undefined || base === azurePage || (base.startsWith('_') && !harmlessControls.has(base))) {
    throw unknownFilter()
  }
  if (modifier !== undefined && !supportsModifier(type, base, modifier)) throw unknownFilter()
  // A server may ignore an empty value, and without the filter it shows too much.
  if (/^[\s,]*$/.test(value) || value.includes('\0') || !value.isWellFormed()) {
    throw invalidSearch('A filter has no value, or a value that is not text.')
  }
  const { kind } = findSearchParameter(type, base) ?? {}
  if (splitUnescaped(value, ',').some(alternative => isEmpty(alternative, kind))) {
    throw invalidSearch(
      'A filter has a value that says nothing, such as | alone or nothing beside a comma. Some servers ignore it and find every record.'
    )
  }
  // HAPI takes any other value for false.
  if (modifier === 'missing' && value !== 'true' && value !== 'false') {
    throw invalidSearch('The modifier :missing takes true or false.')
  }
  if (base === '_sort' && !/^-?\w[\w-]*(,-?\w[\w-]*)*$/.test(value)) {
    throw invalidSearch('_sort takes comma-separated names of filters.')
  }
  if (base === '_tag') requireOtherTag(value, tenant)
}

const prefixed: ReadonlySet<string | undefined> = new Set(['date', 'number', 'quantity'])

/**
 * Whether an alternative of a value is empty: it contains only the separators of its parts, or a prefix. HAPI ignores
 * `|` in a token, and with it the condition, so that a delete by criteria would find any record.
 */
function isEmpty (alternative: string, kind: string | undefined): boolean {
  if (kind === 'string') return alternative.trim() === ''
  const parts = kind === 'composite' ? splitUnescaped(alternative, '$') : [alternative]
  return parts.some(part => {
    const [first = '', ...more] = splitUnescaped(part, '|').map(text => text.replace(/[\s/#]/g, ''))
    if (prefixed.has(kind)) return /^(?:eq|ne|gt|lt|ge|le|sa|eb|ap)?$/.test(first)
    return [first, ...more].every(text => text === '')
  })
}

const numeric: ReadonlySet<string | undefined> = new Set(['composite', 'number', 'quantity'])

/** HAPI writes a number out in full to compare with it. */
function requireShortNumbers (type: string, [name, value]: SearchParameter): void {
  if (!numeric.has(findSearchParameter(type, name.split(':', 1)[0]!)?.kind)) return
  const parts = value.split(/[,|$]/).map(part => part.trim().replace(/^[a-z]{2}/, ''))
  if (parts.some(isOutOfRange)) throw invalidSearch('A filter has a number that is too large, too small or too long.')
}

function requireOtherTag (value: string, tenant: Tenant): void {
  for (const token of splitUnescaped(value, ',')) {
    const [system, ...code] = splitUnescaped(token, '|')
    // Everything that a server might interpret as an escape is one here, not only FHIR's escapes.
    const named = system!.replace(/\\(.)/gs, '$1')
    if (code.length !== 1 || named.trim() === '' || isTenantSystem(named, tenant)) {
      throw invalidSearch("_tag takes tags as system|code, with any system except the gateway's own tag system.")
    }
  }
}

/** Parameters as a query, unchecked: what a client chose must go through {@link restrict}. */
export function encodeParameters (parameters: readonly SearchParameter[]): string {
  return parameters.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
}

function unknownFilter (): Failure {
  return new Failure('UNKNOWN_FILTER')
}

function invalidSearch (message: string): Failure {
  return new Failure('BAD_REQUEST', { message })
}

/**
 * A condition with years and months after `ge` and `le` as their first and last day. HAPI takes `ge2024` for what
 * reaches the end of 2024 and `le2024` for what begins with it, so that most of that year would be missing.
 */
function expandPartialDates (type: string, [name, value]: SearchParameter): SearchParameter {
  const [plain = '', modifier] = name.split(':')
  const { kind, parts } = findSearchParameter(type, plain) ?? {}
  const kinds = kind === 'composite' ? parts : [kind]
  if (modifier !== undefined || kinds?.includes('date') !== true) return [name, value]
  const expandValue = (one: string): string =>
    splitUnescaped(one, '$')
      .map((part, at) => (kinds[at] === 'date' ? expandDate(part) : part))
      .join('$')
  return [name, splitUnescaped(value, ',').map(expandValue).join(',')]
}

/** `ge2024-01-01` for `ge2024`, `le2024-06-30` for `le2024-06`. */
function expandDate (text: string): string {
  const [, prefix, year = '', month] = /^(ge|le)(\d{4})(?:-(0[1-9]|1[0-2]))?$/.exec(text) ?? []
  if (prefix === 'ge') return `ge${year}-${month ?? '01'}-01`
  return prefix === 'le' ? `le${year}-${month ?? '12'}-${getLastDay(Number(year), Number(month ?? 12))}` : text
}

/** The calendar is the same every 400 years, and of a year before 100 JavaScript would make another one. */
function getLastDay (year: number, month: number): number {
  return new Date(Date.UTC(2_000 + year % 400, month, 0)).getUTCDate()
}
