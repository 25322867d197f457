import { isTenantType, resourceTypes } from '../../src/fhir/resource-types.js'
import type { FhirServer } from '../harness/fhir-server.js'

/** Records of one tenant that others may refer to: two of every type that a tenant can have. */
export interface World {
  /** `Type/id` of a record of one of the types; each `pick` returns another record or type while there is one. */
  readonly recordOf: (types: readonly string[], pick?: number) => string
}

/** A world that was stored, with all its records as `Type/id`. */
interface StoredWorld extends World { readonly records: readonly string[] }

/** Types for references to any type. */
const anyTypes = ['Substance', 'Patient']

/**
 * Stores the records directly on the FHIR server, since many of their types have no group.
 * @param refusedTypes types of which the server accepts no record
 */
export async function makeWorld (
  server: FhirServer,
  tenantId: string,
  refusedTypes: readonly string[] = []
): Promise<StoredWorld> {
  const types = [...resourceTypes].filter(type => isTenantType(type) && !refusedTypes.includes(type))
  const ids = await server.storeAll(
    tenantId,
    [...types, ...types].map(resourceType => ({
      resourceType,
      ...(resourceType === 'Bundle' && { type: 'collection' })
    }))
  )
  return {
    records: ids.map((id, i) => `${types[i % types.length]}/${id}`),
    recordOf (wanted, pick = 0) {
      const known = wanted.filter(type => types.includes(type))
      const possible = known.length > 0 ? known : anyTypes
      const type = possible[pick % possible.length]!
      const isSecond = Math.floor(pick / possible.length) % 2 === 1
      return `${type}/${ids[types.indexOf(type) + (isSecond ? types.length : 0)]}`
    }
  }
}
