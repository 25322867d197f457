import type { FhirElement } from '../../mappings/fhir.js'
import type { IterableInclude } from '../interaction.js'
import { includedElements, referencesTo } from './followed-references.js'

/**
 * HAPI follows at most this many references to include records in a page, for each `_revinclude`; for each `_include`
 * less the number of records found by those. It does not say when there are more.
 */
const maxFollowed = 1_000

/** What a page of a search held, before any check of whose it is. */
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
export function truncatedIncludes<Way extends IterableInclude> (
  included: IncludedCounts,
  ways: readonly Way[]
): readonly Way[] {
  if (included.isCut) return ways
  const typesBack = new Set<string | undefined>(ways.filter(isBack).map(({ type }) => type))
  const room = maxFollowed - included.included.filter(record => typesBack.has(typeOf(record))).length
  return ways.filter(way => {
    if (way.iterate === true && included.included.length >= maxFollowed) return true
    return isBack(way) ? cameBack(included, way) >= maxFollowed : followed(included, way) > room
  })
}

const isBack = ({ direction }: IterableInclude): boolean => direction === 'revinclude'

/** Each included record has at least one reference, and one for each match that it leads to. */
function cameBack (
  { matches, included }: IncludedCounts,
  { type, parameter, target, iterate }: IterableInclude
): number {
  const elements = includedElements(type, parameter)
  const to = target ?? (iterate === true ? undefined : typeOf(matches[0]))
  return ofType(included, type).reduce<number>(
    (sum, record) => sum + Math.max(1, referencesTo(to, record, elements)),
    0
  )
}

function followed (
  { matches, included }: IncludedCounts,
  { type, parameter, target, iterate }: IterableInclude
): number {
  const elements = includedElements(type, parameter)
  const from = iterate === true ? [...matches, ...included] : matches
  return ofType(from, type).reduce<number>((sum, record) => sum + referencesTo(target, record, elements), 0)
}

const ofType = (records: readonly unknown[], type: string): readonly unknown[] =>
  records.filter(record => typeOf(record) === type)

function typeOf (record: unknown): string | undefined {
  const { resourceType } = (record ?? {}) as FhirElement
  return typeof resourceType === 'string' ? resourceType : undefined
}
