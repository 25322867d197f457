import { parseQuery, safeName, invalidParameter, type QueryPair } from '../../envelope/query.js'
import { Failure } from '../../envelope/failures.js'
import type { ExportLevel } from '../../jobs/model/job.js'
import type { FhirElement } from '../../mappings/fhir.js'
import { compartmentParameters } from '../../mappings/r4/compartments.js'
import { hasElement } from '../../mappings/r4/elements.js'
import type { Export, SearchParameter } from '../../tenant-guard/interaction.js'
import { isTenantType, resourceTypes } from '../../fhir/resource-types.js'
import { readSince, type FhirRequest } from './fhir-request.js'
import { addSingle, criteriaOf } from './search-request.js'

/** The names that the specification has for its only format. A plus sign in a query is a space. */
const formats = new Set(['application/fhir+ndjson', 'application/fhir ndjson', 'application/ndjson', 'ndjson'])

const maxFilters = 100
const maxFiltersOfAType = 8
const maxName = 200
const maxNames = 1_000

const known = new Set(['_outputFormat', '_since', '_type', '_typeFilter', '_elements'])
/** Parameters that would narrow an export: their sender must not receive more than was requested. */
const narrowing = new Set(['patient', '_until'])

/**
 * The kick-off of a bulk export: http://hl7.org/fhir/uv/bulkdata/STU2/export.html. An unknown parameter is refused, or
 * ignored where the client wants that and no more is exported than was requested.
 * @throws {Failure} BAD_REQUEST, UNKNOWN_FILTER
 */
export function exportOf (level: ExportLevel, request: FhirRequest, groupId?: string): Export {
  const pairs = [...request.query, ...pairsOf(request)]
  const single = new Map<string, string>()
  for (const [name, value] of pairs) {
    if (name === '_outputFormat' || name === '_since') addSingle(single, name, value)
    else if (narrowing.has(name) || (!known.has(name) && !request.isLenient)) {
      throw invalidParameter(safeName(name), `an export takes ${[...known].join(', ')}`)
    }
  }
  const valuesOf = (requested: string): string[] =>
    pairs.filter(([name]) => name === requested).map(([, value]) => value)
  requireFormat(single.get('_outputFormat'))
  const since = readSince(single.get('_since'))
  const types = typesIn(level, valuesOf('_type'), request.isLenient)
  const filters = filtersIn(valuesOf('_typeFilter'), types, request)
  const elements = elementsIn(valuesOf('_elements'), request.isLenient)
  return {
    kind: 'export',
    type: level === 'group' ? 'Group' : level === 'patient' ? 'Patient' : 'Bundle',
    ...groupId !== undefined && { id: groupId },
    namesTypes: pairs.some(([name]) => name === '_type'),
    request: {
      kind: 'export',
      types,
      format: 'fhir',
      level,
      ...since !== undefined && { since },
      ...Object.keys(filters).length > 0 && { filters },
      ...elements.length > 0 && { elements },
      ...groupId !== undefined && { groupId }
    }
  }
}

/** The parameters of a POST: http://hl7.org/fhir/R4/parameters.html */
function pairsOf ({ method, body }: FhirRequest): QueryPair[] {
  if (method !== 'POST' || body === undefined) return []
  const { resourceType, parameter = [] } = (body ?? {}) as FhirElement
  if (resourceType !== 'Parameters' || !Array.isArray(parameter)) {
    throw new Failure('BAD_REQUEST', { message: 'Send the export parameters in the URL or as a Parameters resource.' })
  }
  return parameter.map((item: FhirElement | null) => {
    const { name, ...others } = item ?? {}
    const [value, ...more] = Object.entries(others).filter(([member]) => member.startsWith('value'))
    if (typeof name !== 'string' || value === undefined || more.length > 0) {
      throw invalidParameter('parameter', 'expected parameters with one name and one value each')
    }
    const [, text] = value
    if (typeof text === 'string') return [name, text]
    // Of a type that no parameter here has: only its name decides how it is treated.
    if (known.has(name)) throw invalidParameter(name, 'expected a string')
    return [name, '']
  })
}

function requireFormat (format: string | undefined): void {
  if (format !== undefined && !formats.has(format)) {
    throw invalidParameter('_outputFormat', 'expected application/fhir+ndjson')
  }
}

function namesIn (parameter: string, values: readonly string[]): string[] {
  const names = values.flatMap(value => value.split(',', maxNames + 1))
  if (names.length > maxNames) throw invalidParameter(parameter, `at most ${maxNames} names in one export`)
  return names
}

const typesAt = (level: ExportLevel): string[] =>
  [...resourceTypes].filter(
    type => isTenantType(type) && (level === 'system' || compartmentParameters('Patient', type) !== undefined)
  )

function typesIn (level: ExportLevel, values: readonly string[], isLenient: boolean): string[] {
  const possible = typesAt(level)
  if (values.length === 0) return possible
  const named = namesIn('_type', values)
  const unknown = named.filter(type => !possible.includes(type))
  if (unknown.length > 0 && !isLenient) {
    throw invalidParameter(
      '_type',
      level === 'system'
        ? 'expected comma-separated R4 types whose records can belong to one organization'
        : 'expected comma-separated types of the Patient compartment'
    )
  }
  return [...new Set(named.filter(type => possible.includes(type)))]
}

type Filters = Record<string, SearchParameter[][]>

function filtersIn (
  values: readonly string[],
  types: readonly string[],
  { isLenient, fhirBase }: FhirRequest
): Filters {
  const filters: Filters = {}
  // Servers of the first version of the specification take several filters joined by commas; a text that only looks
  // like a type is refused below.
  const texts = values.flatMap(value => value.split(/,(?=[A-Z][A-Za-z]*\?)/))
  if (texts.length > maxFilters) throw invalidParameter('_typeFilter', `at most ${maxFilters} in one export`)
  for (const text of texts) {
    const [, type, query] = /^([A-Za-z]+)\?(.+)$/s.exec(text) ?? []
    if (type === undefined || query === undefined) {
      throw invalidParameter('_typeFilter', 'expected a search, such as Observation?status=final')
    }
    const isRequested = types.includes(type)
    if (!isRequested && !isLenient) throw invalidParameter('_typeFilter', 'expected searches for the exported types')
    // Without one of its conditions the export would hold more than was requested, so none is ever ignored.
    if (isRequested) (filters[type] ??= []).push(conditionsIn(type, query, fhirBase))
  }
  if (Object.values(filters).some(ofType => ofType.length > maxFiltersOfAType)) {
    throw invalidParameter('_typeFilter', `at most ${maxFiltersOfAType} of one type`)
  }
  return filters
}

function conditionsIn (type: string, query: string, fhirBase: string): SearchParameter[] {
  const pairs = parseQuery(query)
  if (pairs.some(([name]) => name.startsWith('_lastUpdated'))) {
    throw invalidParameter('_typeFilter', 'does not support _lastUpdated; use _since')
  }
  if (pairs.some(([name]) => name.length > maxName) || pairs.length > maxFilters) {
    throw invalidParameter('_typeFilter', 'is too long')
  }
  return [...criteriaOf(type, pairs, fhirBase).parameters]
}

function elementsIn (values: readonly string[], isLenient: boolean): string[] {
  const named = namesIn('_elements', values)
  const isKnown = (element: string): boolean => {
    const [name, type, ...more] = element.split('.').reverse() as [string, string?, ...string[]]
    return (
      more.length === 0 &&
      (type === undefined
        ? [...resourceTypes].some(each => hasElement(each, name))
        : isTenantType(type) && hasElement(type, name))
    )
  }
  const unknown = named.filter(element => !isKnown(element))
  if (unknown.length > 0 && !isLenient) {
    throw invalidParameter(
      '_elements',
      'expected comma-separated top-level elements, such as birthDate or Patient.birthDate'
    )
  }
  return [...new Set(named.filter(isKnown))]
}
