import type { Filter } from './core/filter.js'
import type { Mapping } from './core/mapping.js'
import { findReferencePath } from './r4/search-parameters.js'

/** A group whose records refer to those of another group, and the search parameters by which they do. */
interface Referrer {
  readonly mapping: Mapping
  readonly parameters: readonly string[]
}

/** The member that names the lists which do not hold everything. No field of any resource has this name. */
export const incompleteLists = 'incomplete'

/** The groups whose records can come along with one of this group, each in a list under its name in the URL. */
export function listReferrers ({ type }: Mapping, mappings: readonly Mapping[]): Referrer[] {
  return mappings
    .map(mapping => ({ mapping, parameters: selectParameters(type, mapping) }))
    .filter(({ parameters }) => parameters.length > 0)
}

/**
 * The filters of a group that lead to a type: the one with the type's name, else those whose first target is the type,
 * else those that may have it as target. So the observations of a patient are those about the patient, and not those
 * that the patient made of another person.
 */
function selectParameters (type: string, { type: from, filters }: Mapping): readonly string[] {
  const leading = Object.values(filters).filter(
    filter => mayName(filter, type) && findReferencePath(from, filter.param) !== undefined
  )
  const called = leading.filter(({ param }) => param === type.toLowerCase())
  const meant = leading.filter(({ types = [] }) => types[0] === type)
  const chosen = [called, meant, leading].find(candidates => candidates.length > 0) ?? []
  return [...new Set(chosen.map(({ param }) => param))]
}

function mayName ({ kind, types = [], canonicalOf }: Filter, type: string): boolean {
  return kind === 'reference' && canonicalOf === undefined && (types.includes(type) || types.includes('any'))
}
