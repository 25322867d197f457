import type { FhirResource, StoredResource } from '../mappings/fhir.js'
import { isId } from './resource-types.js'
import { namesTenantSystem, type Tenant } from './tenant.js'

/** What an answer must be to be shown. */
interface Expected {
  readonly tenant: Tenant
  readonly type: string
  /** Absent where any record of the type may come. */
  readonly id?: string
}

/**
 * The one check of every record that a datastore answers with: of the type and id that were asked, with exactly one tag of
 * the tenant system, the tenant's own. Anything else is undefined, and is not shown.
 */
export function ownRecord (value: unknown, { tenant, type, id }: Expected): StoredResource | undefined {
  if (value === null || typeof value !== 'object') return undefined
  const resource = value as FhirResource
  const isAsked = resource.resourceType === type && isId(resource.id) && (id === undefined || resource.id === id)
  return isAsked && belongsTo(resource, tenant) ? resource as StoredResource : undefined
}

function belongsTo (resource: FhirResource, tenant: Tenant): boolean {
  const tags: unknown = resource.meta?.tag
  if (!Array.isArray(tags)) return false
  const marks = tags.filter(tag => namesTenantSystem(tag?.system, tenant))
  return marks.length === 1 && marks[0].system === tenant.system && marks[0].code === tenant.id
}
