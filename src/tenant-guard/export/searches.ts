import type { FhirElement } from '../../mappings/fhir.js'
import { findSearchParameter } from '../../mappings/r4/search-parameters.js'
import type { SearchParameter } from '../interaction.js'
import type { ExportSelection } from './position.js'
import { findCompartmentParameters } from '../../mappings/r4/compartments.js'

/** The conditions of one search, all of which a record meets. */
export type Conditions = readonly SearchParameter[]

/** How the records of one type are found. */
export interface TypeSearch {
  readonly type: string
  /** Alternatives, at least one: a record is wanted that any of these searches finds. */
  readonly searches: readonly Conditions[]
  /** A condition that a search can't express. */
  readonly isSelected?: (record: FhirElement) => boolean
}

/** Members that can be named in the conditions of a search; for a larger group each record is checked instead. */
const maxNamed = 50
/** Searches that one type is looked through by at the same time. */
const maxSearches = 8

/** How the records of a group's patients are found. */
interface GroupOptions {
  /** The ids of the patients; absent for all of the organization's, which a group's never are. */
  readonly members?: readonly string[] | undefined
  /** Types that the datastore can't search by patient: each of their records is checked instead. */
  readonly unnarrowedTypes?: readonly string[] | undefined
}

/**
 * How the records of each type are found.
 */
export function buildSearches (
  { level, filters = {}, until }: ExportSelection,
  types: readonly string[],
  { members, unnarrowedTypes = [] }: GroupOptions = {}
): TypeSearch[] {
  const patients = level === 'group' ? members ?? [] : members
  if (patients?.length === 0) return []
  return types
    .filter(type => level === 'system' || isInPatientCompartment(type))
    .map(type => {
      const filtered = combineSearches(type, Object.hasOwn(filters, type) ? filters[type]! : [[]])
      const searches = until === undefined
        ? filtered
        : filtered.map(conditions => [['_lastUpdated', `lt${until}`] as const, ...conditions])
      const isNarrowed = patients !== undefined && level !== 'system' && !unnarrowedTypes.includes(type)
      return {
        type,
        searches: isNarrowed ? narrowToPatients(type, searches, patients) : searches,
        isSelected: combineSelections(
          level === 'system' ? undefined : createCompartmentFilter(type, patients && new Set(patients)),
          until === undefined ? undefined : selectBefore(until)
        )
      }
    })
}

type Selection = NonNullable<TypeSearch['isSelected']>

const combineSelections = (...selections: ReadonlyArray<Selection | undefined>): Selection => record =>
  selections.every(isSelected => isSelected?.(record) !== false)

/** Checked for each record too, since a datastore's native export may not obey a time in `_typeFilter`. */
function selectBefore (until: string): Selection {
  const end = Date.parse(until)
  return ({ meta }) => !(Date.parse(String((meta as FhirElement | undefined)?.lastUpdated)) >= end)
}

function narrowToPatients (
  type: string, searches: readonly Conditions[], members: readonly string[]
): readonly Conditions[] {
  const parameters = getPatientParameters(type)
  if (members.length > maxNamed || parameters.length * searches.length > maxSearches) return searches
  const toPatientParameter = (parameter: string): SearchParameter => [
    parameter,
    members.map(id => (parameter === '_id' ? id : `Patient/${id}`)).join(',')
  ]
  return searches.flatMap(search => parameters.map(parameter => [...search, toPatientParameter(parameter)]))
}

/** The same alternatives in fewer searches: those that differ in one value only are one search for either value. */
export function combineSearches (type: string, searches: readonly Conditions[]): readonly Conditions[] {
  for (const [at, search] of searches.entries()) {
    for (const [behind, other] of searches.slice(at + 1).entries()) {
      const joined = joinSearches(type, search, other)
      if (joined !== undefined) {
        return combineSearches(type, [
          ...searches.slice(0, at),
          joined,
          ...searches.slice(at + 1).filter((_, index) => index !== behind)
        ])
      }
    }
  }
  return searches
}

/** The kinds of search parameters that take several values everywhere. */
const joinable = new Set(['token', 'reference', 'string', 'uri'])

/** FHIR has values of one parameter as alternatives; with a modifier the meaning may be another one. */
function joinSearches (type: string, search: Conditions, other: Conditions): Conditions | undefined {
  if (search.length !== other.length || !search.every(([name], at) => other[at]![0] === name)) return undefined
  const differing = search.flatMap(([, value], at) => other[at]![1] === value ? [] : [at])
  if (differing.length === 0) return search
  const [at] = differing
  const kind = findSearchParameter(type, search[at!]![0])?.kind
  if (differing.length > 1 || kind === undefined || !joinable.has(kind)) return undefined
  return search.map(([name, value], index) => [name, index === at ? `${value},${other[index]![1]}` : value])
}

/**
 * The types whose records can be in the compartment of a patient:
 * http://hl7.org/fhir/R4/compartmentdefinition-patient.html
 */
export const isInPatientCompartment = (type: string): boolean =>
  findCompartmentParameters('Patient', type) !== undefined

/** The search parameters by which a record of a type is in the compartment of a patient, each of them enough. */
function getPatientParameters (type: string): readonly string[] {
  return [...type === 'Patient' ? ['_id'] : [], ...findCompartmentParameters('Patient', type) ?? []]
}

/**
 * Whether a record of a type is in the compartment of a patient.
 * @param patients ids; absent: any patient will do
 */
export function createCompartmentFilter (
  type: string, patients?: ReadonlySet<string>
): (record: FhirElement) => boolean {
  const paths = (findCompartmentParameters('Patient', type) ?? []).flatMap(name =>
    parseElementPaths(findSearchParameter(type, name)?.expression ?? '')
  )
  const isSelected = (id: string): boolean => patients === undefined || patients.has(id)
  const isSelectedReference = (reference: unknown): boolean =>
    typeof reference === 'string' && reference.startsWith('Patient/') && isSelected(reference.split('/', 2)[1]!)
  return record =>
    (type === 'Patient' && isSelected(String(record.id))) ||
    paths.some(path => hasSelectedReference(record, path, isSelectedReference))
}

/** `AuditEvent.agent.who.where(resolve() is Patient) | …` as the names of elements below the resource. */
function parseElementPaths (expression: string): string[][] {
  return expression
    .split('|')
    .map(path =>
      path
        .trim()
        .replace(/\.where\(.*\)$/, '')
        .split('.')
        .slice(1)
    )
    .filter(path => path.length > 0)
}

function hasSelectedReference (
  value: unknown, path: readonly string[], isSelectedReference: (reference: unknown) => boolean
): boolean {
  if (Array.isArray(value)) return value.some(item => hasSelectedReference(item, path, isSelectedReference))
  if (value === null || typeof value !== 'object') return false
  const [name, ...rest] = path
  return name === undefined
    ? isSelectedReference((value as FhirElement).reference)
    : hasSelectedReference((value as FhirElement)[name], rest, isSelectedReference)
}
