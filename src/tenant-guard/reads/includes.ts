import { findSearchParameter, findReferencePath } from '../../mappings/r4/search-parameters.js'
import type { Include, IterableInclude, SearchParameter } from '../interaction.js'
import { mayRead, type TenantContext } from '../tenant-context.js'
import type { FhirElement } from '../../mappings/fhir.js'

/** The includes of a search that a key may follow, and the types that it may not read, `Resource` for any. */
interface OpenIncludes<I extends Include> {
  readonly followed: readonly I[]
  /** Decided by the request alone, not by stored records, so that it reveals nothing. */
  readonly closedTypes: readonly string[]
}

/**
 * The includes without those that lead only to records that the key may not read, or through such records. What the
 * others bring of such types is left out of the response.
 */
export function filterReadableIncludes<I extends Include> (
  context: TenantContext, includes: readonly I[]
): OpenIncludes<I> {
  if (context.access === undefined) return { followed: includes, closedTypes: [] }
  const isClosed = (type: string): boolean => !mayRead(context, type)
  const isFollowed = (include: I): boolean =>
    !isClosed(include.type) && (getTargetTypes(include)?.some(type => !isClosed(type)) ?? true)
  const closed = includes
    .flatMap(include => [include.type, ...(getTargetTypes(include) ?? ['Resource'])])
    .filter(isClosed)
  return { followed: includes.filter(isFollowed), closedTypes: [...new Set(closed)] }
}

/** The types of the records that an include adds; undefined where R4 lets them be of any. */
function getTargetTypes ({ direction, type, parameter, target }: Include): readonly string[] | undefined {
  if (direction === 'revinclude') return [type]
  return target === undefined ? findSearchParameter(type, parameter)?.targets : [target]
}

/** The warning for types that were left out; undefined when there are none. */
export function formatClosedTypesNote (types: readonly string[]): string | undefined {
  if (types.length === 0) return undefined
  return `This key may not read records of these types, so none are included: ${types.join(', ')}.`
}

/** A way to other records as a search has it: `_revinclude:iterate=Observation:patient`. */
export function formatInclude ({ direction, type, parameter, target, iterate }: IterableInclude): SearchParameter {
  return [
    `_${direction}${iterate === true ? ':iterate' : ''}`,
    [type, parameter, ...(target === undefined ? [] : [target])].join(':')
  ]
}

/** The way that {@link formatInclude} wrote. */
export function parseInclude ([name, value]: SearchParameter): IterableInclude {
  const [type = '', parameter = '', target] = value.split(':')
  return {
    direction: name.startsWith('_rev') ? 'revinclude' : 'include',
    type,
    parameter,
    ...(target !== undefined && { target }),
    ...(name.endsWith(':iterate') && { iterate: true })
  }
}

/**
 * The elements of a type, by their names, below which are the references that a search parameter follows: `member` of a
 * Group.
 */
export function getIncludedElements (type: string, parameter: string): readonly string[] {
  const expression = findReferencePath(type, parameter) ?? ''
  return [...new Set([...expression.matchAll(/\b[A-Z]\w*\.(\w+)/g)].map(([, name]) => name!))]
}

/** How many references these elements of a record hold at most that lead to a type, or to any where none is named. */
export function countReferencesTo (type: string | undefined, record: unknown, elements: readonly string[]): number {
  const members = (record ?? {}) as FhirElement
  // An element with a choice of types has the type in its name.
  return elements.reduce((sum, name) => sum + countBelow(members[name] ?? members[`${name}Reference`], type), 0)
}

function countBelow (value: unknown, type: string | undefined): number {
  if (typeof value === 'string') return 1
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + countBelow(item, type), 0)
  if (value === null || typeof value !== 'object') return 0
  // A related artifact has its canonical in `resource`.
  const { reference, resource = reference } = value as FhirElement
  if (typeof resource === 'string') return isOfOtherType(resource, type) ? 0 : 1
  return Object.values(value).reduce<number>(
    (sum, item) => sum + (typeof item === 'string' ? 0 : countBelow(item, type)),
    0
  )
}

const isOfOtherType = (reference: string, type: string | undefined): boolean =>
  type !== undefined && /^[A-Z]\w*\//.test(reference) && !reference.startsWith(`${type}/`)

/**
 * HAPI follows at most this many references to include records in a page, for each `_revinclude`; for each `_include`
 * less the number of records found by those. It does not say when there are more.
 */
const maxFollowed = 1_000

/** The records of a page of a search, before their tenants are checked. */
interface IncludedCounts {
  readonly matches: readonly unknown[]
  readonly included: readonly unknown[]
  /** Whether the server says that it has more than it returned. */
  readonly isCut: boolean
}

/**
 * The includes that may have more records than were returned. References are counted, since several may lead to one
 * record.
 */
export function findTruncatedIncludes<I extends IterableInclude> (
  included: IncludedCounts,
  includes: readonly I[]
): readonly I[] {
  if (included.isCut) return includes
  const typesBack = new Set<string | undefined>(includes.filter(isBack).map(({ type }) => type))
  const remaining = maxFollowed - included.included.filter(record => typesBack.has(getType(record))).length
  return includes.filter(include => {
    if (include.iterate === true && included.included.length >= maxFollowed) return true
    return isBack(include)
      ? countRevIncluded(included, include) >= maxFollowed
      : countFollowedReferences(included, include) > remaining
  })
}

const isBack = ({ direction }: IterableInclude): boolean => direction === 'revinclude'

/** Each included record has at least one reference, and one for each match that it leads to. */
function countRevIncluded (
  { matches, included }: IncludedCounts,
  { type, parameter, target, iterate }: IterableInclude
): number {
  const elements = getIncludedElements(type, parameter)
  const to = target ?? (iterate === true ? undefined : getType(matches[0]))
  return filterByType(included, type).reduce<number>(
    (sum, record) => sum + Math.max(1, countReferencesTo(to, record, elements)),
    0
  )
}

function countFollowedReferences (
  { matches, included }: IncludedCounts,
  { type, parameter, target, iterate }: IterableInclude
): number {
  const elements = getIncludedElements(type, parameter)
  const from = iterate === true ? [...matches, ...included] : matches
  return filterByType(from, type).reduce<number>((sum, record) => sum + countReferencesTo(target, record, elements), 0)
}

const filterByType = (records: readonly unknown[], type: string): readonly unknown[] =>
  records.filter(record => getType(record) === type)

function getType (record: unknown): string | undefined {
  const { resourceType } = (record ?? {}) as FhirElement
  return typeof resourceType === 'string' ? resourceType : undefined
}
