import { findSearchParameter, type ParameterDefinition } from '../mappings/r4/search-parameters.js'
import { resourceTypes } from '../fhir/resource-types.js'

/**
 * R4's modifiers for a kind of search parameter that concern only the record itself. HAPI silently ignores others, so
 * `birthdate:not` would mean `birthdate`.
 */
const ofKind: Readonly<Record<ParameterDefinition['kind'], readonly string[]>> = {
  composite: [],
  date: ['missing'],
  number: ['missing'],
  quantity: ['missing'],
  reference: ['identifier', 'missing'],
  string: ['contains', 'exact', 'missing'],
  token: ['missing', 'not', 'of-type', 'text'],
  uri: ['missing']
}

const known: ReadonlySet<string> = new Set(Object.values(ofKind).flat())

/** Whether a text is a modifier at all, of any parameter. */
export const isModifier = (text: string): boolean => known.has(text) || resourceTypes.has(text)

/**
 * The modifiers of a type's search parameter, as http://hl7.org/fhir/R4/search.html#modifiers writes them; those that
 * begin with `_` have none.
 */
export function getModifiers (type: string, parameter: string): readonly string[] {
  const kind = parameter.startsWith('_') ? undefined : findSearchParameter(type, parameter)?.kind
  if (kind === undefined) return []
  return kind === 'reference' ? [...ofKind.reference, anyType] : ofKind[kind]
}

const anyType = '[type]'

/** Whether a type's search parameter may have a modifier: `exact`, `missing`, or for a reference the name of a type. */
export function supportsModifier (type: string, parameter: string, modifier: string): boolean {
  const modifiers = getModifiers(type, parameter)
  return known.has(modifier) ? modifiers.includes(modifier) : modifiers.includes(anyType) && resourceTypes.has(modifier)
}
