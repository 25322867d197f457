import { randomUUID } from 'node:crypto'
import { ExactNumber } from '../../json.js'
import type { FhirResource } from '../../mappings/fhir.js'

/**
 * Elements whose canonical may name a definition that tenants keep: a Questionnaire, Measure, Library, PlanDefinition or
 * ActivityDefinition. Without `profile`, `valueSet` and `system`, which lead to what the operator loaded.
 */
const ofTenants: ReadonlySet<string> = new Set([
  'canonical', 'definition', 'definitionCanonical', 'derivedFrom', 'instantiates', 'instantiatesCanonical', 'library', 'measure', 'questionnaire', 'resource',
  'valueCanonical', 'valueUri', 'valueUrl'
])

/** A resource whose canonicals nobody can resolve, and the way back to what they were. */
export interface Unresolved {
  readonly resource: FhirResource
  /** JSON text with the canonicals of the resource in place of those that were put there. */
  readonly restored: (json: string) => string
}

/**
 * A resource for a validator that looks canonicals up among the definitions of all tenants, by URL alone, and tells what they
 * demand. So it is given names that nobody has.
 */
export function unresolved (resource: FhirResource): Unresolved {
  const originals = new Map<string, string>()
  const hidden = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return ofTenants.has(key) && !value.startsWith('#') ? named(value) : value
    if (value === null || typeof value !== 'object' || value instanceof ExactNumber) return value
    if (Array.isArray(value)) return value.map(item => hidden(item, key))
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, hidden(item, name)]))
  }
  const named = (original: string): string => {
    const name = `urn:uuid:${randomUUID()}`
    originals.set(name, original)
    return name
  }
  return {
    resource: hidden(resource, '') as FhirResource,
    restored: json => [...originals].reduce((text, [name, original]) => text.replaceAll(name, () => JSON.stringify(original).slice(1, -1)), json)
  }
}
