import type { Backend } from '../../backends/backend.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { verifyFindings } from './audit-recheck.js'
import { collectReferences } from '../../tenant-guard/writes/references.js'
import type { ScanIndex, UnverifiedReference } from './scan-index.js'
import { supportedTypes } from '../../tenant-guard/served-types.js'
import { countOf } from './walk-look-up.js'
import { isExportFile, ownerOf } from './walk-owner.js'
import { withRetry, type RetryOptions, type Send } from '../../tenant-guard/retry.js'
import { requireOrder, scanAll } from './walk.js'

/** Faults of a record's tags. The gateway never shows such a record to any tenant. */
export const tagFindings = ['no-tag', 'several-tags', 'unclear-tag'] as const

/** Faults of a reference in a record that belongs to one tenant. */
export const referenceFindings = [
  'foreign-reference',
  'untagged-reference',
  'dangling-reference',
  'outside-reference'
] as const

/** The options of an audit. */
interface AuditParts extends RetryOptions {
  readonly backend: Backend
  /** System of the tenants' tags. */
  readonly tenantSystem: string
  /** Absent: all that tenants can have records of. References to others are looked up one by one. */
  readonly types?: readonly string[] | undefined
  /** An empty index, which contains the findings when the audit is done. */
  readonly ledger: ScanIndex
  readonly onProgress?: (progress: WalkProgress) => void
  /** Records a page. */
  readonly pageSize?: number
}

/** The progress of a scan, in records. The total is the datastore's earlier count, so it may be exceeded. */
export interface WalkProgress { readonly seen: number, readonly total: number, readonly type: string }

/** The result of an audit besides its ledger. */
export interface AuditResult {
  readonly records: number
  /** Records of conformance types and Subscriptions, by type; they belong to no tenant and are only counted. */
  readonly shared: Readonly<Record<string, number>>
}

/**
 * Scans every record of a datastore and stores its tenant in the ledger, and each reference of a tenant's record to a
 * record that is not the same tenant's. References that are unverified at the end are checked once more, since records
 * may have been added, changed or deleted during the scan. Writes nothing to the datastore.
 */
export async function audit (parts: AuditParts): Promise<AuditResult> {
  const { backend, ledger, onProgress = () => {} } = parts
  const send = withRetry(backend, parts)
  const served = await supportedTypes(send)
  const types = served.tenant.filter(type => parts.types?.includes(type) ?? true)
  const total = Object.values(await countsOf(send, types)).reduce((sum, count) => sum + count, 0)
  const shared = parts.types === undefined ? await countsOf(send, served.shared) : {}
  let seen = 0
  for (const type of types) {
    await requireOrder({ send, baseUrl: backend.baseUrl, type })
    for await (const records of scanAll({ send, baseUrl: backend.baseUrl, type, pageSize: parts.pageSize })) {
      ledger.together(() => { for (const record of records) note(record, parts) })
      seen += records.length
      onProgress({ seen, total, type })
    }
  }
  await verifyFindings({ ...parts, send, baseUrl: backend.baseUrl })
  return { records: ledger.recordCounts().reduce((sum, { count }) => sum + count, 0), shared }
}

async function countsOf (send: Send, types: readonly string[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const type of types) {
    const count = await countOf(send, type)
    if (count) counts[type] = count
  }
  return counts
}

const tagStates = { none: 'no-tag', several: 'several-tags', unclear: 'unclear-tag' } as const

function note (record: StoredResource, { ledger, tenantSystem, backend }: AuditParts): void {
  const { resourceType: type, id } = record
  const owner = ownerOf(record, tenantSystem)
  if (owner.kind === 'one') {
    return ledger.note({ type, id, tenantId: owner.tenantId, state: 'owned' }, suspectsIn(record, backend))
  }
  ledger.note({ type, id, state: isExportFile(record) ? 'export-file' : tagStates[owner.kind] })
}

/** The references of a record. */
export function suspectsIn (record: StoredResource, { baseUrl }: Pick<Backend, 'baseUrl'>): UnverifiedReference[] {
  return collectReferences(record, [baseUrl]).map(({ path, record: target }) => ({ path, target }))
}
