import type { Mapping } from '../../mappings/core/mapping.js'
import { referrersTo } from '../../mappings/relations.js'
import type { Include } from '../../tenant-guard/interaction.js'

/** A group whose records refer to those of another group, and what a search includes to find them. */
export interface Relation {
  readonly mapping: Mapping
  readonly includes: readonly Include[]
}

/** The groups whose records can be included with one of this group, by their names in the URL. */
export function reverseIncludes (mapping: Mapping, mappings: readonly Mapping[]): ReadonlyMap<string, Relation> {
  return new Map(referrersTo(mapping, mappings).map(({ mapping: { path, type }, mapping, parameters }) =>
    [path, { mapping, includes: parameters.map(parameter => ({ direction: 'revinclude', type, parameter })) }]))
}
