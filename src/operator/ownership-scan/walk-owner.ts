import type { FhirResource } from '../../mappings/fhir.js'
import { isTenantSystem } from '../../tenant-guard/tenant.js'

/**
 * Whose a stored record is by its tags: one tenant's, nobody's, or not to be told: several tags of the tenant system,
 * or one that is written in another way than the gateway writes it. Only `one` is ever shown by the gateway.
 */
type Owner =
  { readonly kind: 'one'; readonly tenantId: string } | { readonly kind: 'none' | 'several' | 'unclear' }

/** Reads the owner of a record from `meta.tag`; the marks of idempotency have another system and say nothing. */
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
 * Whether this is no record but a file that HAPI keeps of a bulk export, with whatever was exported: many tenants'
 * records perhaps.
 */
export function isExportFile ({ resourceType, meta }: FhirResource): boolean {
  const extensions: unknown = meta?.extension
  return (
    resourceType === 'Binary' &&
    Array.isArray(extensions) &&
    extensions.some(extension => String(extension?.url).startsWith(exportMark))
  )
}
