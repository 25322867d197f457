import { suggestion } from '../../envelope/nearest.js'
import { withArticle } from '../../fhir/names.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { referencePath } from '../../mappings/r4/search-parameters.js'
import type { Include } from '../../tenant-guard/interaction.js'
import { isTenantType } from '../../tenant-guard/resource-types.js'
import { parseQuery, invalidParameter } from '../../envelope/query.js'
import type { Relation } from './relations.js'

/** The records that a client includes with a record: groups in the simple form, or by search parameters, as FHIR. */
export type IncludeRequest =
  | { readonly form: 'simple', readonly relations: readonly Relation[], readonly includes: readonly Include[] }
  | { readonly form: 'fhir', readonly includes: readonly Include[] }

/**
 * Reads the query of a read: `include` with names of groups, or `_include` and `_revinclude` as often as wanted.
 * @param relationsOf the groups that may be included, called only where they are needed
 * @returns undefined when there is no query
 * @throws {Failure} BAD_REQUEST
 */
export function parseInclude (
  mapping: Mapping,
  relationsOf: () => ReadonlyMap<string, Relation>,
  search: string
): IncludeRequest | undefined {
  const pairs = parseQuery(search)
  if (pairs.length === 0) return undefined
  const [[name, value] = ['', '']] = pairs
  if (name === 'include' && pairs.length === 1) return parseSimpleInclude(relationsOf(), value)
  if (pairs.every(([name]) => name === '_include' || name === '_revinclude')) return parseFhirInclude(mapping, pairs)
  throw invalidParameter('query', 'a read supports include once, or _include and _revinclude, and no other parameters')
}

function parseSimpleInclude (relations: ReadonlyMap<string, Relation>, value: string): IncludeRequest {
  const requested = [...new Set(value.split(','))].map(name => relations.get(name) ?? unknownName(relations, name))
  return { form: 'simple', relations: requested, includes: requested.flatMap(({ includes }) => includes) }
}

function unknownName (relations: ReadonlyMap<string, Relation>, name: string): never {
  const names = [...relations.keys()]
  const meant = suggestion(name, names)
  throw invalidParameter(
    'include',
    meant === ''
      ? `expected resources that refer to this one: ${names.join(', ')}`
      : `no such resource refers to this one${meant}`
  )
}

function parseFhirInclude (mapping: Mapping, pairs: ReadonlyArray<readonly [string, string]>): IncludeRequest {
  const includes = pairs.flatMap(([name, value]) => readInclude(mapping, name, value))
  return { form: 'fhir', includes: [...new Map(includes.map(include => [wayOf(include, mapping), include])).values()] }
}

/** Clients use both names for the same reference, on every type; each type may lack one of them. */
const otherName: Readonly<Record<string, string>> = { subject: 'patient', patient: 'subject' }

function readInclude (mapping: Mapping, name: string, value: string): Include[] {
  const [type = '', parameter = '', target, ...more] = value.split(':')
  const direction = name === '_include' ? 'include' : 'revinclude'
  const isOfType = direction === 'include' ? type === mapping.type : isTenantType(type)
  const leadsRight = target === undefined || (direction === 'include' ? isTenantType(target) : target === mapping.type)
  if (!isOfType || !leadsRight || more.length > 0) throw notUnderstood(mapping, name)
  if (referencePath(type, parameter) !== undefined) {
    return [{ direction, type, parameter, ...(direction === 'include' && target !== undefined && { target }) }]
  }
  if (Object.hasOwn(otherName, parameter) && referencePath(type, otherName[parameter]!) !== undefined) return []
  throw notUnderstood(mapping, name)
}

function notUnderstood ({ type }: Mapping, name: string): Error {
  const expected =
    name === '_include'
      ? `${type}:parameter, a search parameter of ${type} in R4`
      : `Type:parameter, a search parameter of that type in R4 that leads to ${withArticle(type)}`
  return invalidParameter(name, `expected ${expected}`)
}

/** `Observation:patient` is `Observation:subject` where that is a Patient, so back from a Patient both are the same. */
function wayOf ({ direction, type, parameter, target }: Include, mapping: Mapping): string {
  if (direction === 'include') return `${type}:${parameter}:${target ?? ''}`
  return `${type} ${referencePath(type, parameter)!.replaceAll(`.where(resolve() is ${mapping.type})`, '')}`
}
