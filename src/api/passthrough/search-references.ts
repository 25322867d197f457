import { isModifier, getModifiers, supportsModifier } from '../../tenant-guard/modifiers.js'
import { formatSuggestion } from '../../envelope/nearest.js'
import { toSafeName, invalidParameter, type QueryPair } from '../../envelope/query.js'
import { Failure } from '../../envelope/failures.js'
import {
  commonParameterNames, listParameterNames, findSearchParameter, findReferencePath, type ParameterDefinition
} from '../../mappings/r4/search-parameters.js'
import type { ChainedCondition, SearchParameter } from '../../tenant-guard/interaction.js'
import { isTenantType } from '../../fhir/resource-types.js'
import { uriElements } from '../../tenant-guard/writes/link-elements.js'
import { relativizeReference } from '../../tenant-guard/writes/own-references.js'
import { splitUnescaped } from '../../fhir/search-escaping.js'

/** The message for the canonicals that {@link findReferencePath} leaves out. */
export const notCanonicals = 'canonical URLs are not followed: search for the url instead'

function unknownReference (type: string, name: string): Failure {
  return new Failure('UNKNOWN_FILTER', {
    message: `${toSafeName(name)}: expected a chain over an R4 reference search parameter of ${type}; ${notCanonicals}`
  })
}

/** A reference to a record here as the datastore knows it: the URL of this gateway is not the datastore's. */
export function relativizeParameter ([name, value]: QueryPair, type: string, fhirBase: string): SearchParameter {
  const [plain = '', target] = name.split(':')
  const definition = findSearchParameter(type, plain)
  // After :identifier comes the system of an identifier, and after a chain a condition of the other record.
  if (definition === undefined || !mayHoldReference(definition) || (target !== undefined && !isTenantType(target))) {
    return [name, value]
  }
  const local = value.includes(fhirBase)
    ? splitUnescaped(value, ',')
      .map(one => relativizeReference(one, fhirBase))
      .join(',')
    : value
  if (
    definition.kind === 'reference' &&
    /(?:^|,)[a-z][a-z0-9+.-]*:\/\//i.test(local) &&
    !isCanonicalReference(definition.expression)
  ) { throw invalidParameter(toSafeName(name), 'expected Type/id of a record on this gateway') }
  return [name, local]
}

/** Of the elements that are searched as uri, those that R4 types as url. */
const mayHoldReference = ({ kind, expression = '' }: ParameterDefinition): boolean =>
  kind === 'reference' || (kind === 'uri' && /\.(?:attachment\.url|endpoint)$/.test(expression))

const isCanonicalReference = (expression = ''): boolean => uriElements.has(/(\w+)$/.exec(expression)?.[1] ?? '')

/** @returns the name itself */
export function requireKnownParameter (type: string, name: string): string {
  const [plain = ''] = name.split(':', 1)
  if (findSearchParameter(type, plain) !== undefined) return requireModifier(type, name)
  const message = `not a supported R4 search parameter of ${type}${formatSuggestion(plain, [...listParameterNames(type), ...commonParameterNames])}`
  throw new Failure('UNKNOWN_FILTER', {
    message: `${toSafeName(name)}: ${message}`,
    issues: [{ severity: 'error', code: 'not-supported', diagnostics: `${toSafeName(name)}: ${message}` }]
  })
}

/**
 * Ignoring a modifier makes a search find other records, and a write by criteria change them, so an unknown one is
 * refused even where unknown parameters may be ignored.
 * @returns the name itself
 */
function requireModifier (type: string, name: string): string {
  const [plain = '', modifier, ...more] = name.split(':')
  if (modifier === undefined || (more.length === 0 && supportsModifier(type, plain, modifier))) return name
  const modifiers = getModifiers(type, plain)
  const message = modifiers.length === 0 ? 'no modifiers' : `only ${modifiers.map(known => `:${known}`).join(', ')}`
  throw invalidParameter(
    more.length === 0 && isModifier(modifier) ? name : plain,
    `this parameter supports ${message}`
  )
}

/** `subject:Patient.name`, `patient.name`. */
export function readChain (type: string, [name, value]: SearchParameter, fhirBase: string): ChainedCondition {
  const [, reference = '', target, condition = ''] = /^([a-z][A-Za-z0-9_-]*)(?::([A-Za-z]+))?\.(.+)$/.exec(name) ?? []
  if (condition.includes('.')) {
    throw invalidParameter(toSafeName(name), 'a chain can follow only one reference; search in two steps')
  }
  if (findReferencePath(type, reference) === undefined) throw unknownReference(type, name)
  const [plain = ''] = condition.split(':', 1)
  const possible = target === undefined ? findSearchParameter(type, reference)?.targets ?? [] : [target]
  const types = possible.filter(
    candidate => isTenantType(candidate) && findSearchParameter(candidate, plain) !== undefined
  )
  const [read, ...others] = types.map(candidate => relativizeParameter([condition, value], candidate, fhirBase))
  // A URL here may be a record to one type and a mere text to another.
  const isOne = read !== undefined && others.every(([, text]) => text === read[1])
  if (!isOne || types.length > maxTargets) {
    throw invalidParameter(
      toSafeName(name),
      `name one type that the reference can point to, as in ${reference || 'reference'}:Type.parameter, and one of its search parameters`
    )
  }
  for (const each of types) requireModifier(each, condition)
  return { direction: 'chain', types, reference, condition: read }
}

const maxTargets = 5

/** `_has:Observation:patient:code`. */
export function readHas (type: string, [name, value]: SearchParameter, fhirBase: string): ChainedCondition {
  const [, from = '', reference = '', ...rest] = name.split(':')
  const condition = rest.join(':')
  if (/^_has(?::|$)/.test(condition) || condition.includes('.')) {
    throw invalidParameter('_has', 'can follow only one reference; search in two steps')
  }
  const targets = findSearchParameter(from, reference)?.targets
  const leadsHere =
    findReferencePath(from, reference) !== undefined && (targets === undefined || targets.includes(type))
  if (!isTenantType(from) || !leadsHere) {
    throw invalidParameter(
      '_has',
      `expected _has:Type:parameter:condition, with an R4 search parameter of that type that refers to ${type}; ${notCanonicals}`
    )
  }
  requireKnownParameter(from, condition)
  return {
    direction: 'has',
    types: [from],
    reference,
    condition: relativizeParameter([condition, value], from, fhirBase)
  }
}

/** The number of separate searches that joins need: one for each type of record on which they have a condition. */
export function countJoinSearches (joins: readonly ChainedCondition[]): number {
  return joins.reduce((sum, { types }) => sum + types.length, 0)
}
