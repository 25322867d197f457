import type { FhirElement } from '../../mappings/fhir.js'
import { referencePath } from '../../mappings/r4/search-parameters.js'

/**
 * The elements of a type, by their names, below which are the references that a search parameter follows: `member` of a
 * Group.
 */
export function includedElements (type: string, parameter: string): readonly string[] {
  const expression = referencePath(type, parameter) ?? ''
  return [...new Set([...expression.matchAll(/\b[A-Z]\w*\.(\w+)/g)].map(([, name]) => name!))]
}

/** How many references these elements of a record hold at most that lead to a type, or to any where none is named. */
export function referencesTo (type: string | undefined, record: unknown, elements: readonly string[]): number {
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
  if (typeof resource === 'string') return leadsElsewhere(resource, type) ? 0 : 1
  return Object.values(value).reduce<number>(
    (sum, item) => sum + (typeof item === 'string' ? 0 : countBelow(item, type)),
    0
  )
}

const leadsElsewhere = (reference: string, type: string | undefined): boolean =>
  type !== undefined && /^[A-Z]\w*\//.test(reference) && !reference.startsWith(`${type}/`)
