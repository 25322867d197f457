import { randomUUID } from 'node:crypto'
import { mapJson } from '../../json/json.js'
import type { FhirResource } from '../../mappings/fhir.js'

/**
 * Elements whose canonical may name a definition that tenants store: a Questionnaire, Measure, Library, PlanDefinition
 * or ActivityDefinition. Without `profile`, `valueSet` and `system`, which lead to what the operator loaded.
 */
const ofTenants: ReadonlySet<string> = new Set([
  'canonical',
  'definition',
  'definitionCanonical',
  'derivedFrom',
  'instantiates',
  'instantiatesCanonical',
  'library',
  'measure',
  'questionnaire',
  'resource',
  'valueCanonical',
  'valueUri',
  'valueUrl'
])

/** A resource whose canonicals resolve to nothing, and the function that restores them. */
interface Unresolved {
  readonly resource: FhirResource
  /** JSON text with the canonicals of the resource in place of those that were put there. */
  readonly restored: (json: string) => string
}

/**
 * A resource for a validator that looks canonicals up among the definitions of all tenants, by URL alone, and reveals
 * what they demand. So its canonicals are replaced by names that do not exist.
 */
export function unresolvedCanonicals (resource: FhirResource): Unresolved {
  const originals = new Map<string, string>()
  const named = (original: string): string => {
    const name = `urn:uuid:${randomUUID()}`
    originals.set(name, original)
    return name
  }
  return {
    resource: mapJson(resource, (item, name) =>
      typeof item === 'string' && ofTenants.has(name) && !item.startsWith('#') ? named(item) : item
    ),
    // In one pass: a resource may have a hundred thousand canonicals, and the response an issue for each.
    restored: json =>
      json.replaceAll(/urn:uuid:[0-9a-f-]{36}/g, name =>
        originals.has(name) ? JSON.stringify(originals.get(name)).slice(1, -1) : name
      )
  }
}
