import { Failure, fieldIssue } from '../../envelope/failures.js'
import { formatSuggestion } from '../../envelope/nearest.js'
import {
  maxIds, maxValueLength, parseCount, parseQuery, toSafeName, invalidParameter, type PageSize
} from '../../envelope/query.js'
import {
  listConflictingFilters, getDateParameter, noParameter, singleValueKinds, type Filter, type Filters
} from '../../mappings/core/filter.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { maxCursor } from '../../tenant-guard/cursor.js'
import type { SearchParameter } from '../../tenant-guard/interaction.js'
import { toSearchParameters, validateFilterValue } from './filter-value.js'

/** A search as a client requested it, ready for the guard. */
export interface Query {
  readonly parameters: readonly SearchParameter[]
  /** Filters that the gateway checks, with their values. */
  readonly conditions: readonly SearchParameter[]
  /** Absent: the guard's own, or that of the page before. */
  readonly count?: number
  readonly cursor?: string
  /** Warnings about the search for the client. */
  readonly warnings?: PageSize['warnings']
}

/** The values that parameters may have, by their names. */
interface Values {
  /** Whether one takes several values at once, joined by commas. */
  readonly takesSeveral: (name: string) => boolean
  /** Whether these are ids, of which there may be as many as records on a page. */
  readonly takesIds: (name: string) => boolean
}

const oneValue: Values = { takesSeveral: () => false, takesIds: () => false }

/**
 * Reads the query of a search on the simple form: `count`, `cursor`, `sort`, `updatedSince`, `id` and the filters of
 * the resource, each at most once. Any other parameter is refused.
 * @throws {Failure} UNKNOWN_FILTER, BAD_REQUEST
 */
export function readSimpleSearch (mapping: Mapping, search: string): Query {
  const query = parseQueryPairs(search, {
    takesSeveral: name => acceptsMultipleValues(mapping, name),
    takesIds: name => findFilter(mapping, name)?.kind === 'reference'
  })
  const filters = [...query].filter(([name]) => !['count', 'cursor', 'sort'].includes(name))
  const isChecked = ([name]: readonly [string, string]): boolean => findFilter(mapping, name)?.paths !== undefined
  const conditions = filters.filter(isChecked)
  for (const [name, value] of conditions) readFilter(mapping, name, value)
  const parameters = filters
    .filter(pair => !isChecked(pair))
    .flatMap(([name, value]) => readFilter(mapping, name, value))
  rejectConflictingFilters(mapping, query)
  const sort = query.get('sort')
  const cursor = query.get('cursor')
  const count = query.get('count')
  return {
    conditions,
    parameters: sort === undefined ? parameters : [...parameters, readSort(mapping, sort)],
    ...count !== undefined && parseCount(count),
    ...cursor !== undefined && { cursor }
  }
}

/**
 * The names and values of a query, decoded once; a repeated name is refused, since servers differ in which value
 * counts.
 * @param search the text after the question mark, undecoded
 * @throws {Failure} BAD_REQUEST
 */
export function parseQueryPairs (
  search: string,
  { takesSeveral, takesIds }: Values = oneValue
): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>()
  const getMaxLength = (name: string): number =>
    name === 'cursor' ? maxCursor : takesIds(name) ? maxIds : maxValueLength
  for (const [name, value] of parseQuery(search, getMaxLength)) {
    if (pairs.has(name)) {
      throw invalidParameter(
        toSafeName(name),
        takesSeveral(name)
          ? 'is given twice; send it once with its values separated by commas, any of which may match'
          : 'is given twice; it takes only one value'
      )
    }
    pairs.set(name, value)
  }
  return pairs
}

/** A text by `:text` is one value, even with commas in it, and both true and false would be no filter. */
function acceptsMultipleValues (mapping: Mapping, name: string): boolean {
  const filter = findFilter(mapping, name)
  return filter !== undefined && !singleValueKinds.has(filter.kind) && filter.kind !== 'boolean'
}

function readFilter (mapping: Mapping, name: string, value: string): SearchParameter[] {
  const [plain = '', modifier, ...more] = name.split(':')
  const filter = findFilter(mapping, plain)
  if (filter === undefined || more.length > 0) throw unknownFilter(mapping, plain, name)
  if (modifier !== undefined && !(modifier === 'text' && filter.hasText)) {
    throw invalidParameter(
      toSafeName(name),
      filter.hasText ? `the only modifier of this filter is ${plain}:text` : 'this filter has no modifiers'
    )
  }
  const error = validateFilterValue(filter, modifier, value)
  if (error !== undefined) throw invalidParameter(toSafeName(name), error)
  return toSearchParameters(filter, modifier, value)
}

function rejectConflictingFilters ({ filters }: Mapping, query: ReadonlyMap<string, string>): void {
  for (const name of query.keys()) {
    const rivals = Object.hasOwn(filters, name)
      ? listConflictingFilters(filters, name).filter(other => query.has(other))
      : []
    if (rivals.length > 0) {
      throw invalidParameter(name, `cannot be combined with ${rivals.join(' or ')}, because both limit the same dates`)
    }
  }
}

const commonFilters: Filters = {
  id: { param: '_id', kind: 'reference', types: [] },
  updatedSince: { param: '_lastUpdated', kind: 'from' }
}

/** A filter by a name that may be anything at all, such as `constructor`. */
function findFilter ({ filters }: Mapping, name: string): Filter | undefined {
  return [commonFilters, filters].find(known => Object.hasOwn(known, name))?.[name]
}

function unknownFilter (mapping: Mapping, plain: string, name: string): Failure {
  const names = [...Object.keys(mapping.filters), ...Object.keys(commonFilters), 'count', 'cursor', 'sort']
  const message = `no such filter${formatSuggestion(plain, names, `; the filters are ${names.join(', ')}`)}`
  return new Failure('UNKNOWN_FILTER', {
    message: `${toSafeName(name)}: ${message}`,
    issues: [fieldIssue(toSafeName(name), message, 'not-supported')]
  })
}

function readSort (mapping: Mapping, value: string): SearchParameter {
  const keys = value.split(',').map(key => {
    const name = key.replace(/^-/, '')
    const param = name === 'date' ? getDateParameter(mapping.filters) : findFilter(mapping, name)?.param
    if (param === undefined || param === noParameter) {
      throw invalidParameter('sort', 'expected date or the name of a filter, with the prefix - for descending order')
    }
    return key.startsWith('-') ? `-${param}` : param
  })
  return ['_sort', keys.join(',')]
}
