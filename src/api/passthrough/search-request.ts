import { startsWithSpace, toSafeName, invalidParameter, spaceError, type QueryPair } from '../../envelope/query.js'
import { Failure } from '../../envelope/failures.js'
import {
  listReferenceParameters, listReferenceParametersTo, findReferencePath
} from '../../mappings/r4/search-parameters.js'
import { withArticle } from '../../fhir/names.js'
import type {
  Criteria,
  Search,
  IterableInclude,
  ChainedCondition,
  Projection,
  SearchParameter
} from '../../tenant-guard/interaction.js'
import { isTenantType } from '../../fhir/resource-types.js'
import { countAlternatives } from '../../fhir/search-escaping.js'
import type { FhirRequest } from './fhir-request.js'
import {
  notCanonicals, relativizeParameter, requireKnownParameter, readChain, readHas, countJoinSearches
} from './search-references.js'

const maxCount = 1_000

const maxIncludes = 60

const maxIterated = 3

/** Searches that the chains and `_has` of one search may become. */
const maxJoined = 20

/**
 * HAPI joins a table for each condition and each sort key: a search with 200 of them occupied it for half a minute, and
 * so did one with 20,000 values.
 */
const maxConditions = 50

const maxValues = 5_000

/** The parts of the query of a search. */
interface Parts {
  readonly parameters: SearchParameter[]
  readonly joins: ChainedCondition[]
  readonly includes: IterableInclude[]
  /** Parameters of which there is one at most. */
  readonly single: Map<string, string>
  readonly requested: SearchParameter[]
}

type SearchContext = Pick<FhirRequest, 'query' | 'isLenient' | 'fhirBase'>

/**
 * A search of a type: http://hl7.org/fhir/R4/search.html. A parameter that R4 does not have there is refused, or
 * ignored where the client wants that; a join deeper than one reference is refused.
 * @throws {Failure} BAD_REQUEST, UNKNOWN_FILTER
 */
export function readFhirSearch (type: string, request: SearchContext): Search {
  return buildSearch(type, readParts(type, request))
}

function readParts (type: string, { query, isLenient, fhirBase }: SearchContext): Parts {
  const parts: Parts = { parameters: [], joins: [], includes: [], single: new Map(), requested: [] }
  for (const pair of query) {
    try {
      readParameter(parts, relativizeParameter(pair, type, fhirBase), { type, fhirBase })
      parts.requested.push(pair)
    } catch (error) {
      if (!(isLenient && isName(pair[0]) && error instanceof Failure && error.code === 'UNKNOWN_FILTER')) throw error
    }
    requireMaxParts(parts)
  }
  if (parts.single.has('_cursor')) requireCursorAlone(query.map(([name]) => name))
  requireMaxValues(parts)
  return parts
}

/**
 * Whether a text can be the name of a parameter at all. Another one, such as a name behind a byte order mark, is a
 * mistake and no parameter of another server that could be ignored: without its filter a search shows everything.
 */
const isName = (name: string): boolean => /^[\w.:-]+$/.test(name)

function buildSearch (type: string, { parameters, joins, includes, single, requested }: Parts): Search {
  const [count, total, cursor, summary] = ['_count', '_total', '_cursor', '_summary'].map(name => single.get(name))
  const shape = parseProjection(single)
  return {
    kind: 'search',
    type,
    route: 'fhir',
    parameters,
    joins,
    includes,
    requested,
    ...shape !== undefined && { shape },
    ...summary === 'count' ? { count: 0 } : count !== undefined && { count: readCount(count) },
    ...total !== undefined && { total: readTotal(total) },
    ...cursor !== undefined && { cursor }
  }
}

/**
 * The criteria that identify the record of a conditional request: conditions on that record alone, since criteria that
 * are only partly understood would match another one.
 * @throws {Failure} BAD_REQUEST, UNKNOWN_FILTER
 */
export function parseCriteria (type: string, query: FhirRequest['query'], fhirBase: string): Criteria {
  const { parameters, joins, includes, requested } = readParts(type, { query, isLenient: false, fhirBase })
  const isPlain =
    joins.length + includes.length === 0 &&
    parameters.length === requested.length &&
    !parameters.some(([name]) => name === '_sort')
  if (parameters.length === 0 || !isPlain) {
    throw invalidParameter(
      'criteria',
      `expected one or more search parameters of ${type}, without chains, includes or paging`
    )
  }
  return { type, parameters }
}

/** The parameters of {@link Projection}, as a read and a search have them. */
export function parseProjection (single: ReadonlyMap<string, string>): Projection | undefined {
  const elements = single.get('_elements')
  const summary = single.get('_summary')
  if (elements !== undefined && !/^[A-Za-z]{1,64}(?:,[A-Za-z]{1,64}){0,99}$/.test(elements)) {
    throw invalidParameter('_elements', 'expected comma-separated names of elements')
  }
  if (summary !== undefined && !['true', 'false', 'text', 'data', 'count'].includes(summary)) {
    throw invalidParameter('_summary', 'expected true, false, text, data or count')
  }
  const isShaped = summary !== undefined && summary !== 'count'
  if (elements === undefined && !isShaped) return undefined
  return {
    ...(elements !== undefined && { elements }),
    ...(isShaped && { summary: summary as NonNullable<Projection['summary']> })
  }
}

const singles = new Set(['_count', '_total', '_summary', '_elements', '_cursor'])

function readParameter (
  parts: Parts,
  [name, value]: QueryPair,
  { type, fhirBase }: { readonly type: string, readonly fhirBase: string }
): void {
  if (startsWithSpace(value)) throw invalidParameter(toSafeName(name), spaceError)
  if (singles.has(name)) addSingle(parts.single, name, value)
  else if (name === '_sort') parts.parameters.push([name, readSort(type, value)])
  else if (/^_(?:rev)?include(?::|$)/.test(name)) parts.includes.push(readInclude(type, name, value))
  else if (name.startsWith('_has:')) parts.joins.push(readHas(type, [name, value], fhirBase))
  else if (name.includes('.')) parts.joins.push(readChain(type, [name, value], fhirBase))
  else parts.parameters.push([requireKnownParameter(type, name), value])
}

/**
 * A cursor contains the whole request. A page size may be with it, since clients of others write one into every link
 * that they follow. @throws {Failure} BAD_REQUEST for any other parameter
 */
export function requireCursorAlone (names: readonly string[]): void {
  if (names.every(name => name === '_cursor' || name === '_count')) return
  throw invalidParameter('_cursor', 'must be the only parameter besides _count, because it contains the whole request')
}

/** @throws {Failure} BAD_REQUEST when the name is repeated: which value counts is undefined */
export function addSingle (single: Map<string, string>, name: string, value: string): void {
  if (single.has(name)) throw invalidParameter(name, 'is given twice')
  single.set(name, value)
}

function readInclude (type: string, name: string, value: string): IterableInclude {
  const [, kind, modifier] = /^_((?:rev)?include)(?::(.*))?$/s.exec(name) ?? []
  const [from = '', parameter = '', target, ...more] = value.split(':', 4)
  const direction = kind === 'include' ? 'include' : 'revinclude'
  const iterate = modifier === 'iterate'
  const fault =
    more.length > 0 || (modifier !== undefined && !iterate)
      ? 'expected Type:parameter or Type:parameter:Target; the only modifier is :iterate'
      : checkInclude(type, { from, parameter, target, isOfMatches: direction === 'include' && !iterate })
  if (fault !== undefined) throw invalidParameter(`_${direction}`, fault)
  return { direction, type: from, parameter, ...target !== undefined && { target }, ...iterate && { iterate } }
}

interface IncludeParts {
  readonly from: string
  readonly parameter: string
  readonly target: string | undefined
  /** Whether the references are those of the records that are searched for. */
  readonly isOfMatches: boolean
}

/** The error in an include, and what to send instead; undefined for a valid include. */
function checkInclude (type: string, { from, parameter, target, isOfMatches }: IncludeParts): string | undefined {
  if (!isTenantType(from)) return 'expected Type:parameter or Type:parameter:Target; * cannot be used'
  if (isOfMatches && from !== type) {
    return `expected ${type}:parameter, since ${type} is searched; for references of included records use _include:iterate, for records that refer to ${withArticle(type)} use _revinclude`
  }
  if (target !== undefined && !isTenantType(target)) return 'expected a resource type after the second colon'
  if (findReferencePath(from, parameter) !== undefined) return undefined
  const leading = isTenantType(parameter) ? listReferenceParametersTo(from, parameter) : listReferenceParameters(from)
  const known = leading.map(name => `${from}:${name}`).join(', ')
  const expected = known === '' ? `${from} has no such reference` : `expected a reference search parameter: ${known}`
  return `${expected}; ${notCanonicals}`
}

/** Called while the parts are read, so that there are never more. */
function requireMaxParts ({ parameters, joins, includes }: Parts): void {
  if (countJoinSearches(joins) > maxJoined) {
    throw invalidParameter(
      '_has',
      `at most ${maxJoined} chains and _has parameters in one search; a chain counts once for each type that its reference can point to, unless it names one, as in reference:Type.parameter`
    )
  }
  if (parameters.length + joins.length > maxConditions) throw tooManyConditions()
  if (includes.length > maxIncludes) throw invalidParameter('_include', `at most ${maxIncludes} in one search`)
  if (includes.filter(({ iterate }) => iterate === true).length > maxIterated) {
    throw invalidParameter('_include', `at most ${maxIterated} with :iterate`)
  }
}

function requireMaxValues ({ parameters, joins }: Parts): void {
  const lists = [...parameters, ...joins.map(({ condition }) => condition)].map(([name, value]) => ({
    name,
    values: countAlternatives(value, ',')
  }))
  const conditions = lists.reduce((sum, { name, values }) => sum + (name === '_sort' ? values : 1), 0)
  if (conditions > maxConditions) throw tooManyConditions()
  if (lists.reduce((sum, { values }) => sum + values, 0) > maxValues) {
    throw invalidParameter('query', `at most ${maxValues} values in one search, counting each comma-separated value`)
  }
}

const tooManyConditions = (): Failure =>
  invalidParameter('query', `at most ${maxConditions} search parameters and _sort keys in one search`)

function readSort (type: string, value: string): string {
  const keys = value.split(',', maxConditions + 1)
  if (keys.length > maxConditions) throw tooManyConditions()
  for (const key of keys) requireKnownParameter(type, key.replace(/^-/, ''))
  return value
}

function readCount (text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw invalidParameter('_count', 'expected a whole number')
  return Math.min(Number(text), maxCount)
}

function readTotal (text: string): NonNullable<Search['total']> {
  if (text !== 'none' && text !== 'estimate' && text !== 'accurate') {
    throw invalidParameter('_total', 'expected none, estimate or accurate')
  }
  return text
}
