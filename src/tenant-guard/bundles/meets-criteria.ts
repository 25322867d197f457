import { unescaped, splitUnescaped } from '../../fhir/search-escaping.js'
import type { FhirElement } from '../../mappings/fhir.js'
import { isElement } from '../../mappings/core/path.js'
import { parameterOf } from '../../mappings/r4/search-parameters.js'
import type { SearchParameter } from '../interaction.js'

/**
 * Whether a resource that is not stored yet meets criteria, as far as that can be decided here: by tokens, such as an
 * identifier, and uris in elements without conditions of their own.
 * @returns undefined where only a datastore can decide
 */
export function meetsCriteria (
  resource: FhirElement,
  type: string,
  parameters: readonly SearchParameter[]
): boolean | undefined {
  if (resource.resourceType !== type) return false
  const results = parameters.map(([name, value]) => meetsOne(resource, type, [name, value]))
  if (results.includes(false)) return false
  return results.includes(undefined) ? undefined : true
}

function meetsOne (resource: FhirElement, type: string, [name, value]: SearchParameter): boolean | undefined {
  const { kind, expression = '' } = parameterOf(type, name) ?? {}
  const paths = expression
    .split(' | ')
    .map(path => (/^[A-Z]\w*(?:\.\w+)+$/.test(path) ? path.split('.').slice(1) : undefined))
  if ((kind !== 'token' && kind !== 'uri') || paths.includes(undefined)) return undefined
  const found = paths.flatMap(path => valuesAt([resource], path!))
  return splitUnescaped(value, ',').some(one =>
    found.some(item => (kind === 'uri' ? item === unescaped(one) : hasToken(item, one)))
  )
}

function valuesAt (holders: readonly unknown[], [name, ...rest]: readonly string[]): unknown[] {
  if (name === undefined) return [...holders]
  const next = holders
    .flatMap(holder => (isElement(holder) ? [holder[name]].flat() : []))
    .filter(value => value !== undefined)
  return valuesAt(next, rest)
}

/** `system|code`, `|code`, `code` or `system|` on a code, Coding, CodeableConcept, Identifier or ContactPoint. */
function hasToken (item: unknown, token: string): boolean {
  const [first = '', second] = splitUnescaped(token, '|').map(unescaped)
  if (!isElement(item)) return String(item) === (second ?? first)
  if (Array.isArray(item.coding)) return item.coding.some(coding => hasToken(coding, token))
  const code = item.code ?? item.value
  if (second === undefined) return code === first
  return (first === '' ? item.system === undefined : item.system === first) && (second === '' || code === second)
}
