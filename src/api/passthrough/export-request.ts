import { parseQuery, toSafeName, invalidParameter, type QueryPair } from '../../envelope/query.js'
import { Failure } from '../../envelope/failures.js'
import type { ExportLevel } from '../../jobs/model/job.js'
import type { FhirElement } from '../../mappings/fhir.js'
import { findCompartmentParameters } from '../../mappings/r4/compartments.js'
import { hasElement } from '../../mappings/r4/elements.js'
import type { Export, SearchParameter } from '../../tenant-guard/interaction.js'
import { isId } from '../../fhir/names.js'
import { isTenantType, resourceTypes } from '../../fhir/resource-types.js'
import { readInstant, type FhirRequest } from './fhir-request.js'
import { addSingle, parseCriteria } from './search-request.js'

/** The names that the specification has for its only format. A plus sign in a query is a space. */
const formats = new Set(['application/fhir+ndjson', 'application/fhir ndjson', 'application/ndjson', 'ndjson'])

const maxFilters = 100
const maxFiltersOfAType = 8
const maxName = 200
const maxNames = 1_000

const single = new Set(['_outputFormat', '_since', '_until'])
const known = new Set([...single, '_type', '_typeFilter', '_elements', 'patient'])

/**
 * The kick-off of a bulk export: http://hl7.org/fhir/uv/bulkdata/export.html (version 3.0.0). An unknown parameter is refused, or
 * ignored where the client wants that and no more is exported than was requested.
 * @throws {Failure} BAD_REQUEST, UNKNOWN_FILTER
 */
export function parseExport (level: ExportLevel, request: FhirRequest, groupId?: string): Export {
  const pairs = [...request.query, ...readBodyParameters(request)]
  const singleValues = readSingleValues(pairs, request.isLenient)
  const getValues = (requested: string): string[] =>
    pairs.filter(([name]) => name === requested).map(([, value]) => value)
  requireFormat(singleValues.get('_outputFormat'))
  const since = readInstant('_since', singleValues.get('_since'))
  const until = readInstant('_until', singleValues.get('_until'))
  const types = parseTypes(level, getValues('_type'), request.isLenient)
  const filters = parseTypeFilters(getValues('_typeFilter'), types, request)
  const elements = parseElements(getValues('_elements'), request.isLenient)
  const patients = parsePatients(level, getValues('patient'), request)
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
      ...until !== undefined && { until },
      ...Object.keys(filters).length > 0 && { filters },
      ...elements.length > 0 && { elements },
      ...groupId !== undefined && { groupId },
      ...patients.length > 0 && { patients }
    }
  }
}

function readSingleValues (pairs: readonly QueryPair[], isLenient: boolean): Map<string, string> {
  const singleValues = new Map<string, string>()
  for (const [name, value] of pairs) {
    if (single.has(name)) addSingle(singleValues, name, value)
    else if (name === 'organizeOutputBy') {
      // Its sender would take each file for the records of one patient.
      throw invalidParameter(name, 'is not supported: each type has a file of its own')
    } else if (!known.has(name) && !isLenient) {
      throw invalidParameter(toSafeName(name), `an export takes ${[...known].join(', ')}`)
    }
  }
  return singleValues
}

/** The ids of the patients that a POST names. */
function parsePatients (level: ExportLevel, values: readonly string[], { query, fhirBase }: FhirRequest): string[] {
  if (values.length === 0) return []
  if (level === 'system') throw invalidParameter('patient', 'narrows exports at Patient/$export and Group/<id>/$export')
  if (query.some(([name]) => name === 'patient')) {
    throw invalidParameter('patient', 'expected in the Parameters of a POST, since URLs are logged')
  }
  if (values.length > maxNames) throw invalidParameter('patient', `at most ${maxNames} in one export`)
  const prefix = 'Patient/'
  return [...new Set(values.map(value => {
    const reference = value.startsWith(`${fhirBase}/`) ? value.slice(fhirBase.length + 1) : value
    const id = reference.slice(prefix.length)
    if (reference.startsWith(prefix) && isId(id)) return id
    throw invalidParameter('patient', 'expected a reference such as Patient/123')
  }))]
}

/** The parameters of a POST: http://hl7.org/fhir/R4/parameters.html */
function readBodyParameters ({ method, body }: FhirRequest): QueryPair[] {
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
    const [, content] = value
    const text = name === 'patient' ? (content as FhirElement | null)?.reference : content
    if (typeof text === 'string') return [name, text]
    // Of a type that no parameter here has: only its name decides how it is treated.
    if (known.has(name)) throw invalidParameter(name, name === 'patient' ? 'expected a valueReference' : 'expected a string')
    return [name, '']
  })
}

function requireFormat (format: string | undefined): void {
  if (format !== undefined && !formats.has(format)) {
    throw invalidParameter('_outputFormat', 'expected application/fhir+ndjson')
  }
}

function splitNames (parameter: string, values: readonly string[]): string[] {
  const names = values.flatMap(value => value.split(',', maxNames + 1))
  if (names.length > maxNames) throw invalidParameter(parameter, `at most ${maxNames} names in one export`)
  return names
}

const listExportableTypes = (level: ExportLevel): string[] =>
  [...resourceTypes].filter(
    type => isTenantType(type) && (level === 'system' || findCompartmentParameters('Patient', type) !== undefined)
  )

function parseTypes (level: ExportLevel, values: readonly string[], isLenient: boolean): string[] {
  const possible = listExportableTypes(level)
  if (values.length === 0) return possible
  const named = splitNames('_type', values)
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

function parseTypeFilters (
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
    if (isRequested) (filters[type] ??= []).push(parseTypeFilter(type, query, fhirBase))
  }
  if (Object.values(filters).some(ofType => ofType.length > maxFiltersOfAType)) {
    throw invalidParameter('_typeFilter', `at most ${maxFiltersOfAType} of one type`)
  }
  return filters
}

function parseTypeFilter (type: string, query: string, fhirBase: string): SearchParameter[] {
  const pairs = parseQuery(query)
  if (pairs.some(([name]) => name.startsWith('_lastUpdated'))) {
    throw invalidParameter('_typeFilter', 'does not support _lastUpdated; use _since')
  }
  if (pairs.some(([name]) => name.length > maxName) || pairs.length > maxFilters) {
    throw invalidParameter('_typeFilter', 'is too long')
  }
  return [...parseCriteria(type, pairs, fhirBase).parameters]
}

function parseElements (values: readonly string[], isLenient: boolean): string[] {
  const named = splitNames('_elements', values)
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
