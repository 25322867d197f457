import type { FhirResource, StoredResource } from '../mappings/fhir.js'
import { isId } from '../fhir/names.js'
import { isTenantSystem, type Tenant } from './tenant.js'

/** The conditions that a record must meet to be shown. */
interface OwnershipCondition {
  readonly tenant: Tenant
  readonly type: string
  /** Absent if any record of the type will do. */
  readonly id?: string
}

/**
 * The one check of every record in a datastore's response: it must have the type and id that were requested, and
 * exactly one tag of the tenant system, the tenant's own.
 * @returns undefined for anything else, which must not be shown
 */
export function verifyOwned (value: unknown, { tenant, type, id }: OwnershipCondition): StoredResource | undefined {
  if (value === null || typeof value !== 'object') return undefined
  const resource = value as FhirResource
  const isRequested = resource.resourceType === type && isId(resource.id) && (id === undefined || resource.id === id)
  return isRequested && belongsTo(resource, tenant) ? resource as StoredResource : undefined
}

function belongsTo (resource: FhirResource, tenant: Tenant): boolean {
  const tags: unknown = resource.meta?.tag
  if (!Array.isArray(tags)) return false
  const tenantTags = tags.filter(tag => isTenantSystem(tag?.system, tenant))
  return tenantTags.length === 1 && tenantTags[0].system === tenant.system && tenantTags[0].code === tenant.id
}
