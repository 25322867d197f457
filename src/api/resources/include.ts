import { fieldIssue, type Issue } from '../../envelope/failures.js'
import { formatSuggestion } from '../../envelope/nearest.js'
import { typePattern, withArticle } from '../../fhir/names.js'
import type { Caller } from '../../keys/caller.js'
import { may, requireScope } from '../../keys/scopes.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { listReferenceParametersTo, findReferencePath } from '../../mappings/r4/search-parameters.js'
import { listReferrers } from '../../mappings/relations.js'
import type { Include } from '../../tenant-guard/interaction.js'
import { isTenantType } from '../../fhir/resource-types.js'
import { parseQuery, invalidParameter } from '../../envelope/query.js'

/** A group whose records refer to those of another group, and what a search includes to find them. */
export interface Relation {
  readonly mapping: Mapping
  readonly includes: readonly Include[]
}

/** The groups whose records can be included with one of this group, by their names in the URL. */
export function buildRelations (mapping: Mapping, mappings: readonly Mapping[]): ReadonlyMap<string, Relation> {
  return new Map(listReferrers(mapping, mappings).map(({ mapping: { path, type }, mapping, parameters }) =>
    [path, { mapping, includes: parameters.map(parameter => ({ direction: 'revinclude', type, parameter })) }]))
}

/** The records that a client includes with a record: groups in the simple form, or by search parameters, as FHIR. */
export type IncludeRequest = (
  | { readonly form: 'simple', readonly relations: readonly Relation[], readonly emptyLists: readonly string[] }
  | { readonly form: 'fhir' }
) & {
  readonly includes: readonly Include[]
  /** One for each requested group that a record of this type cannot have. */
  readonly warnings: readonly Issue[]
}

/** The groups that a client may name. */
interface Groups {
  /** Those whose records refer to this group, called only where they are needed. */
  readonly getRelations: () => ReadonlyMap<string, Relation>
  readonly isGroup: (name: string) => boolean
}

/**
 * Reads the query of a read: `include` with names of groups, or `_include` and `_revinclude` as often as wanted.
 * @returns undefined when there is no query
 * @throws {Failure} BAD_REQUEST
 */
export function parseInclude (mapping: Mapping, groups: Groups, search: string): IncludeRequest | undefined {
  const pairs = parseQuery(search)
  if (pairs.length === 0) return undefined
  const [[name, value] = ['', '']] = pairs
  if (name === 'include' && pairs.length === 1) return parseSimpleInclude(mapping, groups, value)
  if (pairs.every(([name]) => name === '_include' || name === '_revinclude')) return parseFhirInclude(mapping, pairs)
  throw invalidParameter('query', 'a read supports include once, or _include and _revinclude, and no other parameters')
}

/**
 * The request without the groups that the caller's key may not read, each with a warning. Records in FHIR are raw FHIR,
 * wherever they are read.
 * @throws {Failure} INSUFFICIENT_SCOPE
 */
export function authorizeIncludes (
  caller: Caller,
  { type }: Mapping,
  request: IncludeRequest | undefined
): IncludeRequest | undefined {
  if (request?.form === 'fhir') requireScope(caller, 'read', { fhirType: type })
  if (request?.form !== 'simple') return request
  const isOpen = (resource: string): boolean => may(caller.scopes, 'read', { resource })
  const closed = request.relations.filter(({ mapping }) => !isOpen(mapping.path))
  const relations = request.relations.filter(relation => !closed.includes(relation))
  return {
    ...request,
    relations,
    includes: relations.flatMap(({ includes }) => includes),
    warnings: [
      ...request.warnings,
      ...closed.map(({ mapping: { path } }) =>
        buildUnusedWarning('include', `this key may not read ${path}`, 'forbidden')
      )
    ]
  }
}

function parseSimpleInclude ({ type }: Mapping, { getRelations, isGroup }: Groups, value: string): IncludeRequest {
  const relations = getRelations()
  const names = [...new Set(value.split(','))]
  const unknown = names.find(name => !relations.has(name) && !isGroup(name))
  if (unknown !== undefined) throw unknownRelation(relations, unknown)
  const requested = names.flatMap(name => relations.get(name) ?? [])
  const emptyLists = names.filter(name => !relations.has(name))
  return {
    form: 'simple',
    relations: requested,
    emptyLists,
    includes: requested.flatMap(({ includes }) => includes),
    warnings: emptyLists.map(name =>
      buildUnusedWarning('include', `no records of ${name} refer to ${withArticle(type)}`)
    )
  }
}

function unknownRelation (relations: ReadonlyMap<string, Relation>, name: string): Error {
  const names = [...relations.keys()]
  const meant = formatSuggestion(name, names)
  return invalidParameter(
    'include',
    meant === ''
      ? `expected resources that refer to this one: ${names.join(', ')}`
      : `no such resource refers to this one${meant}`
  )
}

function parseFhirInclude (mapping: Mapping, pairs: ReadonlyArray<readonly [string, string]>): IncludeRequest {
  const read = pairs.map(([name, value]) => readInclude(mapping, name, value))
  const includes = read.flatMap(found => found ?? [])
  const values = { _include: 0, _revinclude: 0 }
  const warnings = pairs.flatMap(([name], i) => {
    const position = ++values[name as keyof typeof values]
    if (read[i] !== undefined) return []
    const reference = name === '_include' ? `${mapping.type} has no such reference` : `no such reference leads to ${withArticle(mapping.type)}`
    return [buildUnusedWarning(name, `value ${position}: ${reference} that can be followed here`)]
  })
  return {
    form: 'fhir',
    includes: [...new Map(includes.map(include => [toIncludeKey(include, mapping), include])).values()],
    warnings
  }
}

const buildUnusedWarning = (name: string, reason: string, code = 'not-supported'): Issue =>
  ({ ...fieldIssue(name, `${reason}, so it adds nothing`, code), severity: 'warning' })

/** Clients use both names for the same reference, on every type; each type may lack one of them. */
const otherName: Readonly<Record<string, string>> = { subject: 'patient', patient: 'subject' }

const includeForm = new RegExp(`^(${typePattern}):([A-Za-z][A-Za-z-]*)(?::(${typePattern}))?$`)

/** The references of one value; undefined for one that a record of this type cannot have. */
function readInclude (mapping: Mapping, name: string, value: string): Include[] | undefined {
  const [, type, parameter, target] = includeForm.exec(value) ?? []
  if (type === undefined || parameter === undefined) throw invalidInclude(mapping, name)
  const direction = name === '_include' ? 'include' : 'revinclude'
  const isOfType = direction === 'include' ? type === mapping.type : isTenantType(type)
  const isTarget = (target: string) => direction === 'include' ? isTenantType(target) : target === mapping.type
  if (!isOfType || (target !== undefined && !isTarget(target))) return undefined
  if (findReferencePath(type, parameter) !== undefined) {
    return [{ direction, type, parameter, ...(direction === 'include' && target !== undefined && { target }) }]
  }
  if (Object.hasOwn(otherName, parameter) && findReferencePath(type, otherName[parameter]!) !== undefined) return []
  if (target !== undefined || !isTarget(parameter)) return undefined
  const leading = listReferenceParameters(type, parameter)
  if (leading.length === 0) return undefined
  return leading.map(found => ({
    direction,
    type,
    parameter: found,
    ...(direction === 'include' && { target: parameter })
  }))
}

/** The parameters of a type that may lead to another, each reference by one of them. */
function listReferenceParameters (type: string, target: string): string[] {
  const leading = listReferenceParametersTo(type, target)
  return [...new Map(leading.map(name => [withoutType(findReferencePath(type, name)!, target), name])).values()]
}

function invalidInclude ({ type }: Mapping, name: string): Error {
  const expected =
    name === '_include'
      ? `${type}:parameter, a search parameter of ${type} in R4, or ${type}:Type`
      : `Type:parameter, a search parameter of that type in R4 that leads to ${withArticle(type)}, or Type:${type}`
  return invalidParameter(name, `expected ${expected}`)
}

/** `Observation:patient` is `Observation:subject` where that is a Patient, so back from a Patient both are the same. */
function toIncludeKey ({ direction, type, parameter, target }: Include, mapping: Mapping): string {
  if (direction === 'include') return `${type}:${parameter}:${target ?? ''}`
  return `${type} ${withoutType(findReferencePath(type, parameter)!, mapping.type)}`
}

const withoutType = (path: string, type: string): string => path.replaceAll(`.where(resolve() is ${type})`, '')
