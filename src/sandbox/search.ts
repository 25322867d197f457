import { parseStored } from '../json/json.js'
import { subsetted, type FhirResource, type StoredResource } from '../mappings/fhir.js'
import { buildCondition } from './conditions.js'
import type { ServerBehaviour } from './server-behaviour.js'
import { invalid } from './outcome.js'
import { parseNonNegativeInt, buildPageLinks, pageParameters, parsePageToken, type QueryParameter } from './paging.js'
import { getSearchParameters, resourceTypes, type Parameter } from './search-parameters.js'
import type { Condition, Store, Version } from './store.js'
import { listTextSummaryElements } from '../mappings/r4/elements.js'

/** One hop from the matches: `Observation:subject`, forward to what it points to or backward to what points here. */
interface Include { readonly parameter: string, readonly target: string | undefined, readonly isReverse: boolean }

/** A search that was understood. */
interface Search {
  readonly type: string
  readonly conditions: Condition[]
  readonly order: Condition[]
  readonly includes: Include[]
  count: number
  offset: number
  shape: Shape
}

const maxPage = 1000

/** The store to search, and the server's behaviour. */
export interface Searched {
  readonly store: Store
  readonly baseUrl: string
  readonly behaviour: ServerBehaviour
}

/** The parameters of a search that this server knows. */
export function filterSupportedParameters (
  { behaviour }: Searched,
  type: string,
  parameters: readonly QueryParameter[]
): QueryParameter[] {
  return parameters.filter(
    ([name]) =>
      name === pageParameters[behaviour.pages] ||
      (!isMissing(behaviour, type, name) && (controls.has(name) || getSearchParameters(type).has(getCode(name))))
  )
}

const getCode = (name: string): string => name.split(':', 1)[0]!

const isMissing = ({ missingParameters }: ServerBehaviour, type: string, name: string): boolean =>
  missingParameters.includes(`${type}.${getCode(name)}`)

/**
 * Searches one type and returns a page of the result as a searchset Bundle.
 * @throws {FhirError} for an unsupported parameter or value: no part of a search is ever ignored.
 */
export function search (server: Searched, type: string, parameters: readonly QueryParameter[]): FhirResource {
  const { store, baseUrl, behaviour: { pages, totals } } = server
  const requested = readSearch(server, type, parameters)
  const keys = store.find(type, requested.conditions, requested.order)
  const page = keys.slice(requested.offset, requested.offset + requested.count)
  const included = [...new Set(requested.includes.flatMap(include => follow(store, page, include)))].filter(
    key => !page.includes(key)
  )
  const toEntry = (mode: 'match' | 'include') => (version: Version) => ({
    fullUrl: `${baseUrl}/${version.type}/${version.id}`,
    resource: applyProjection(parseStored(version.text) as StoredResource, mode === 'match' ? requested.shape : {}),
    search: { mode }
  })
  const entries = [...store.load(page).map(toEntry('match')), ...store.load(included).map(toEntry('include'))]
  return {
    resourceType: 'Bundle',
    type: 'searchset',
    ...((totals === 'on pages' || (totals === 'counted separately' && requested.shape.summary === 'count')) && {
      total: keys.length
    }),
    link: buildPageLinks(`${baseUrl}/${type}`, parameters, { ...requested, total: keys.length, pages }),
    ...(entries.length > 0 && { entry: entries })
  }
}

/**
 * The resources that match the criteria of a conditional request: none, one, or the first two of several.
 * @throws {FhirError} also when there is no criterion, since every resource would match
 */
export function findMatches (server: Searched, type: string, criteria: readonly QueryParameter[]): Version[] {
  if (criteria.length === 0) throw invalid('a conditional request needs a criterion')
  if (criteria.some(([name]) => controls.has(name))) throw invalid('a conditional request has search parameters only')
  return server.store.load(server.store.find(type, readSearch(server, type, criteria).conditions, []).slice(0, 2))
}

function readSearch (
  { baseUrl, behaviour }: Searched,
  type: string,
  parameters: readonly QueryParameter[]
): Search {
  const { pages, ignoredParameters } = behaviour
  const search: Search = { type, conditions: [], order: [], includes: [], count: 20, offset: 0, shape: {} }
  for (const [name, value] of parameters) {
    const control = controls.get(name)
    if (isMissing(behaviour, type, name)) throw invalid('a search parameter is not supported for this type')
    if (ignoredParameters.includes(getCode(name))) continue
    if (name === pageParameters[pages]) search.offset = parsePageToken(value, pages)
    else if (control) control(search, value)
    else search.conditions.push(toCondition(type, [name, value], baseUrl))
  }
  if (search.shape.summary === 'count') search.count = 0
  return search
}

function toCondition (type: string, [name, value]: readonly [string, string], baseUrl: string): Condition {
  const [code, modifier, ...more] = name.split(':') as [string, ...string[]]
  if (more.length > 0 || name.includes('.') || code === '_has') throw invalid('chained search is not offered')
  return buildCondition({ type, parameter: requireParameter(type, code), modifier, value, baseUrl })
}

function requireParameter (type: string, code: string): Parameter {
  const found = getSearchParameters(type).get(code)
  if (!found) throw invalid('a search parameter is unknown for this type')
  return found
}

const controls = new Map<string, (search: Search, value: string) => void>([
  [
    '_count',
    (search, value) => {
      search.count = Math.min(parseNonNegativeInt(value), maxPage)
    }
  ],
  [
    '_sort',
    (search, value) => {
      search.order.push(...value.split(',').map(key => toOrder(search.type, key)))
    }
  ],
  [
    '_elements',
    (search, value) => {
      search.shape = { ...search.shape, elements: value.split(',') }
    }
  ],
  [
    '_include',
    (search, value) => {
      search.includes.push(parseInclude(value, false))
    }
  ],
  [
    '_revinclude',
    (search, value) => {
      search.includes.push(parseInclude(value, true))
    }
  ],
  [
    '_summary',
    (search, value) => {
      search.shape = { ...search.shape, summary: requireOneOf(value, ['true', 'false', 'text', 'data', 'count']) }
    }
  ],
  // A search always counts all its matches.
  [
    '_total',
    (_, value) => {
      requireOneOf(value, ['accurate', 'estimate', 'none'])
    }
  ],
  [
    '_format',
    (_, value) => {
      requireOneOf(value, ['json', 'application/json', 'application/fhir+json'])
    }
  ]
])

function requireOneOf (value: string, known: readonly string[]): string {
  if (!known.includes(value)) throw invalid(`a result parameter is none of ${known.join(', ')}`)
  return value
}

function toOrder (type: string, key: string): Condition {
  const isDescending = key.startsWith('-')
  const { name, kind } = requireParameter(type, isDescending ? key.slice(1) : key)
  const column = ['date', 'number', 'quantity'].includes(kind) ? 'low' : 'value'
  const best = `SELECT ${isDescending ? 'max' : 'min'}(${column}) FROM search_index WHERE pk = r.pk AND parameter = ?`
  return { sql: `(${best}) ${isDescending ? 'DESC' : 'ASC'} NULLS LAST`, args: [`${type}.${name}`] }
}

function parseInclude (value: string, isReverse: boolean): Include {
  const [type = '', code = '', target, ...more] = value.split(':')
  if (more.length > 0 || !resourceTypes.has(type) || (target !== undefined && !resourceTypes.has(target))) {
    throw invalid('an include is Type:parameter or Type:parameter:Type')
  }
  if (requireParameter(type, code).kind !== 'reference') throw invalid('an include follows a reference')
  return { parameter: `${type}.${code}`, target, isReverse }
}

function follow (store: Store, page: readonly number[], { parameter, target, isReverse }: Include): number[] {
  return isReverse ? store.findSources(page, parameter, target) : store.findTargets(page, parameter, target)
}

/** The requested parts of each resource; absent means all of it. */
interface Shape {
  readonly elements?: readonly string[]
  /** http://hl7.org/fhir/R4/search.html#summary; `true` may show more than R4's summary, and here shows all. */
  readonly summary?: string
}

/** The resource with the requested elements or summary. */
export function applyProjection (resource: StoredResource, { elements, summary }: Shape): StoredResource {
  if (elements !== undefined) return withOnlyElements(resource, elements)
  if (summary === 'text') return withOnlyElements(resource, listTextSummaryElements(resource.resourceType))
  return summary === 'data'
    ? withOnlyElements(
      resource,
      Object.keys(resource).filter(name => name !== 'text')
    )
    : resource
}

/** The resource with only the named elements; type, id and meta always stay, and meta says that the rest is missing. */
function withOnlyElements (resource: StoredResource, names: readonly string[]): StoredResource {
  const isSelected = (key: string) => names.some(name => key === name || (!(name in resource) && isChoice(key, name)))
  const { resourceType, id, meta } = resource
  const stored = Object.fromEntries(Object.entries(resource).filter(([key]) => isSelected(key.replace(/^_/, ''))))
  return { resourceType, id, ...stored, meta: { ...meta, tag: [...meta.tag ?? [], subsetted] } }
}

/** `valueQuantity` is a choice of `value`. */
function isChoice (key: string, name: string): boolean {
  return key.startsWith(name) && /^[A-Z]/.test(key.slice(name.length))
}
