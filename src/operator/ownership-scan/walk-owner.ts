import type { FhirResource } from '../../mappings/fhir.js'
import { isTenantSystem } from '../../tenant-guard/tenant.js'

/**
 * The owner of a stored record by its tags: one tenant, none, or ambiguous: several tags of the tenant system, or one
 * in another form than the gateway writes. The gateway only ever shows records of `one`.
 */
type Owner =
  { readonly kind: 'one'; readonly tenantId: string } | { readonly kind: 'none' | 'several' | 'unclear' }

/** Reads the owner of a record from `meta.tag`; the tags of idempotency have another system and are ignored. */
export function ownerOf ({ meta }: FhirResource, system: string): Owner {
  const tags: unknown = meta?.tag ?? []
  if (!Array.isArray(tags)) return { kind: 'unclear' }
  const named = tags.filter(tag => isTenantSystem(tag?.system, { id: '', system }))
  if (named.length !== 1) return { kind: named.length === 0 ? 'none' : 'several' }
  const [{ system: written, code }] = named
  return written === system && typeof code === 'string' && code !== ''
    ? { kind: 'one', tenantId: code }
    : { kind: 'unclear' }
}

const exportMark = 'https://hapifhir.org/NamingSystem/bulk-export-'

/**
 * Whether this is not a record but a file of a bulk export that HAPI stores, with any exported data: possibly records
 * of many tenants.
 */
export function isExportFile ({ resourceType, meta }: FhirResource): boolean {
  const extensions: unknown = meta?.extension
  return (
    resourceType === 'Binary' &&
    Array.isArray(extensions) &&
    extensions.some(extension => String(extension?.url).startsWith(exportMark))
  )
}
