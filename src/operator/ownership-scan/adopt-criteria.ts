import type { SearchParameter } from '../../tenant-guard/interaction.js'
import { supportsModifier } from '../../tenant-guard/modifiers.js'
import { isTenantType } from '../../fhir/resource-types.js'

/** Which records an operator means: those of a type that meet all criteria. */
export interface AdoptionCriteria { readonly type: string, readonly criteria: readonly SearchParameter[] }

/** A search that is refused; the message says what to write instead and repeats no part of the search. */
export class CriteriaRefused extends Error {}

/** HAPI ignores any other name that begins with `_`, and an ignored condition would adopt too much. */
const knownControls = new Set(['_id', '_profile', '_security', '_source', '_tag'])

/**
 * Reads `Patient?organization=Organization/1`.
 * @throws {CriteriaRefused}
 */
export function readCriteria (search: string): AdoptionCriteria {
  const [type, query, ...rest] = search.split('?') as [string, ...string[]]
  if (!isTenantType(type)) {
    throw new CriteriaRefused(
      'A search has the form Type?name=value, with a resource type whose records can belong to a tenant.'
    )
  }
  const criteria = [...new URLSearchParams(query ?? '')] as const
  if (criteria.length === 0 || rest.length > 0) {
    throw new CriteriaRefused(
      'A search has one ? followed by at least one name=value. To adopt all records of a type, use --type.'
    )
  }
  for (const [name, value] of criteria) {
    requireCondition(name, value)
    requireModifier(type, name, value)
  }
  return { type, criteria }
}

function requireCondition (name: string, value: string): void {
  const [base = ''] = name.split(/[:.]/)
  const isControl = name.startsWith('_') && !knownControls.has(base) && !name.startsWith('_has:')
  if (isControl) {
    throw new CriteriaRefused(
      `Of the parameters that start with _, a search supports only ${[...knownControls].join(', ')} and _has.`
    )
  }
  if (!/^[a-z_]/i.test(name)) throw new CriteriaRefused('The name of a search parameter must start with a letter.')
  // An empty value would be passed over.
  if (/^[\s,]*$/.test(value)) throw new CriteriaRefused('Each search parameter needs a value.')
}

/**
 * HAPI ignores a modifier that a parameter does not have, and finds others instead: `birthdate:not` would adopt the
 * patients that it was to exclude.
 */
function requireModifier (type: string, name: string, value: string): void {
  const isJoin = name.startsWith('_has:') || name.includes('.')
  const [condition, modifier, ...more] = (
    isJoin ? (/^(?:_has:[^:]*:[^:]*:|.*\.)(.*)$/.exec(name)?.[1] ?? name) : name
  ).split(':') as [string, ...string[]]
  if (modifier === undefined) return
  if (isJoin) throw new CriteriaRefused('The condition of a chain or _has cannot have a modifier. Search without it.')
  if (more.length > 0 || !supportsModifier(type, condition, modifier)) {
    throw new CriteriaRefused('A modifier must be one that R4 has for that kind of search parameter.')
  }
  if (modifier === 'missing' && !['true', 'false'].includes(value)) {
    throw new CriteriaRefused('The modifier :missing takes true or false.')
  }
}
