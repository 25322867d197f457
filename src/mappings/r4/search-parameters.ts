import { findElementDefinitions } from './elements.js'
import table from './search-parameters.json' with { type: 'json' }

/** How a search parameter compares: http://hl7.org/fhir/R4/search.html#ptypes */
type ParameterKind = 'composite' | 'date' | 'number' | 'quantity' | 'reference' | 'string' | 'token' | 'uri'

/** A search parameter of R4 on one type. */
export interface ParameterDefinition {
  readonly kind: ParameterKind
  /** The elements that it searches, as FHIRPath; absent for a composite. */
  readonly expression?: string
  /** The types to which a reference may lead; absent where it may lead to any. */
  readonly targets?: readonly string[]
  /** The kinds of the values between dollar signs; of a composite alone. */
  readonly parts?: readonly ParameterKind[]
}

type Row =
  | readonly [kind: 'composite', parts: readonly ParameterKind[]]
  | readonly [kind: ParameterKind, expression: string, targets?: readonly string[]]

const rows = table as unknown as Readonly<Record<string, Readonly<Record<string, Row>>>>
const commonParameters: Readonly<Record<string, Row>> = rows.Resource!

/** A search parameter of a type, those of all types included; undefined for a name that R4 does not have there. */
export function findSearchParameter (type: string, name: string): ParameterDefinition | undefined {
  const row = [getRows(type), commonParameters].find(known => Object.hasOwn(known, name))?.[name]
  if (row === undefined) return undefined
  return typeof row[1] === 'string'
    ? { kind: row[0], expression: row[1], ...(row[2] !== undefined && { targets: row[2] }) }
    : { kind: row[0], parts: row[1] }
}

/** The names of all search parameters that R4 has on a type alone. */
export function listParameterNames (type: string): string[] {
  return Object.keys(getRows(type))
}

/** The names of the search parameters that R4 has on every type: `_id`, `_lastUpdated`. */
export const commonParameterNames: readonly string[] = Object.keys(commonParameters)

/**
 * The elements, as FHIRPath, that a search parameter of R4 follows from a type to other records; undefined when the
 * type has no such parameter, or one that follows no references. A canonical is none: it is a URL that records of any
 * organization may have, and HAPI follows it to all of them.
 */
export function findReferencePath (type: string, parameter: string): string | undefined {
  const row = Object.hasOwn(getRows(type), parameter) ? getRows(type)[parameter] : undefined
  return row?.[0] === 'reference' && !hasCanonical(row[1]) ? row[1] : undefined
}

const canonical = new Map<string, boolean>()

/** Whether an element of an expression is a canonical. */
function hasCanonical (expression = ''): boolean {
  const known =
    canonical.get(expression) ?? expression.split(' | ').some(path => listTypesAt(path).includes('canonical'))
  canonical.set(expression, known)
  return known
}

/** The types that R4 gives to what a path leads to: several where it has a choice. */
function listTypesAt (path: string): readonly string[] {
  const [type = '', ...names] = path.replaceAll(/\.where\((?:[^()]|\(\))*\)|\[\d+\]| as \w+|[()]/g, '').split('.')
  return names.reduce<readonly string[]>(
    (holders, name) => holders.flatMap(holder => listElementTypes(holder, name)),
    [type]
  )
}

function listElementTypes (holder: string, name: string): string[] {
  return [...(findElementDefinitions(holder)?.values() ?? [])]
    .filter(({ element }) => element === name || element === `${name}[x]`)
    .map(({ type }) => type)
}

/** The search parameters of a type that are references and may lead to another type. */
export function listReferenceParametersTo (type: string, target: string): string[] {
  return listReferenceParameters(type).filter(
    name => findSearchParameter(type, name)?.targets?.includes(target) ?? true
  )
}

/**
 * The smallest selection of these search parameters of a type that searches the elements of all of them: `subject`
 * searches those that `patient` does.
 */
export function selectWidestParameters (type: string, names: readonly string[]): string[] {
  const looksAt = new Map(names.map(name => [name, splitExpression(findReferencePath(type, name) ?? '')]))
  return names.filter((name, at) => !names.some((other, otherAt) => {
    const [own, others] = [looksAt.get(name)!, looksAt.get(other)!]
    return name !== other && own.every(path => others.includes(path)) && (others.length > own.length || otherAt < at)
  }))
}

/** The paths of an expression, without the type that it requires of a reference. */
const splitExpression = (expression: string): string[] =>
  expression.split(' | ').map(path => path.replace(/\.where\(resolve\(\) is \w+\)/, ''))

/** The names of a type's search parameters that follow references. */
export function listReferenceParameters (type: string): string[] {
  return listParameterNames(type).filter(name => findReferencePath(type, name) !== undefined)
}

const none: Readonly<Record<string, Row>> = {}

function getRows (type: string): Readonly<Record<string, Row>> {
  return Object.hasOwn(rows, type) ? rows[type]! : none
}
