import type { Filter } from '../mappings/kit/filter.js'
import type { Mapping } from '../mappings/kit/mapping.js'
import { followedBy } from '../mappings/r4/references.js'
import type { Include } from '../tenant-guard/interaction.js'

/** A group whose records refer to those of another group, and the search parameters by which they do. */
export interface Relation {
  readonly mapping: Mapping
  readonly includes: readonly Include[]
}

/** The groups whose records can come along with one of this group, by their names in the URL. */
export function relationsTo ({ type }: Mapping, mappings: readonly Mapping[]): ReadonlyMap<string, Relation> {
  const relations = mappings.map(mapping => ({
    mapping,
    includes: parametersTo(type, mapping).map(parameter => ({ direction: 'revinclude', type: mapping.type, parameter } as const))
  }))
  return new Map(relations.filter(({ includes }) => includes.length > 0).map(relation => [relation.mapping.path, relation]))
}

/**
 * The filters of a group that lead to a type: the one that is called like the type, else those that mean it first, else
 * those that may mean it. So the observations of a patient are those about the patient, and not those that the patient
 * made of somebody else.
 */
function parametersTo (type: string, { type: from, filters }: Mapping): readonly string[] {
  const leading = Object.values(filters).filter(filter => mayName(filter, type) && followedBy(from, filter.param) !== undefined)
  const called = leading.filter(({ param }) => param === type.toLowerCase())
  const meant = leading.filter(({ types = [] }) => types[0] === type)
  const chosen = [called, meant, leading].find(candidates => candidates.length > 0) ?? []
  return [...new Set(chosen.map(({ param }) => param))]
}

function mayName ({ kind, types = [], canonicalOf }: Filter, type: string): boolean {
  return kind === 'reference' && canonicalOf === undefined && (types.includes(type) || types.includes('any'))
}
