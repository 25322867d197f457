import type { Backend } from '../../backends/backend.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { collectReferences } from '../../tenant-guard/writes/references.js'
import type { ScanIndex, UnverifiedReference, ReferenceFinding, SuspectOf } from './scan-index.js'
import { supportedTypes } from '../../tenant-guard/served-types.js'
import { countOf, isExportFile, ownerOf, requireOrder, scanAll, fetchCurrent } from './walk.js'
import { withRetry, type RetryOptions, type Send } from '../../tenant-guard/retry.js'

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

/** Where references are in doubt. */
interface Doubts {
  readonly send: Send
  readonly baseUrl: string
  readonly tenantSystem: string
  readonly ledger: ScanIndex
}

const suspectsAtOnce = 200

/** Checks each unverified reference once more, and records a fault if it is still wrong. */
async function verifyFindings (doubts: Doubts): Promise<void> {
  const { send, ledger } = doubts
  for (const suspects of ledger.suspects(suspectsAtOnce)) {
    const sources = await fetchCurrent(send, suspects.map(({ source }) => source), 'whole')
    const targets = await targetsOf(suspects, doubts)
    for (const suspect of suspects) {
      const source = sources.get(suspect.source)
      if (source !== undefined && stillRefers(source, suspect, doubts)) {
        noteFault(suspect, { ...doubts, tenantId: tenantOf(source, doubts), targets })
      }
    }
  }
}

/** The same for the references of one tenant only, whose records need not be read again or are not tagged yet. */
export async function recheckTargets (doubts: Doubts, tenantId: string): Promise<void> {
  for (const suspects of doubts.ledger.suspects(suspectsAtOnce)) {
    const targets = await targetsOf(suspects, doubts)
    for (const suspect of suspects) noteFault(suspect, { ...doubts, tenantId, targets })
  }
}

function targetsOf (suspects: readonly SuspectOf[], { send }: Doubts): ReturnType<typeof fetchCurrent> {
  return fetchCurrent(send, suspects.map(({ target }) => target).filter(target => target !== undefined), 'meta')
}

function stillRefers (source: StoredResource, { path, target }: SuspectOf, { baseUrl }: Doubts): boolean {
  return collectReferences(source, [baseUrl]).some(link => link.path === path && link.record === target)
}

interface Known extends Doubts {
  readonly tenantId: string | undefined
  readonly targets: ReadonlyMap<string, StoredResource>
}

function noteFault ({ source, path, target }: SuspectOf, known: Known): void {
  const { tenantId, targets, ledger } = known
  const record = target === undefined ? undefined : targets.get(target)
  const targetTenantId = record && tenantOf(record, known)
  if (tenantId === undefined || targetTenantId === tenantId) return
  ledger.addFault({
    source,
    path,
    target,
    tenantId,
    targetTenantId,
    finding: findingOf(target, record, targetTenantId)
  } satisfies ReferenceFinding)
}

function tenantOf (record: StoredResource, { tenantSystem }: Doubts): string | undefined {
  const owner = ownerOf(record, tenantSystem)
  return owner.kind === 'one' ? owner.tenantId : undefined
}

function findingOf (
  target: string | undefined,
  record: StoredResource | undefined,
  targetTenantId: string | undefined
): string {
  if (target === undefined) return 'outside-reference'
  if (record === undefined) return 'dangling-reference'
  return targetTenantId === undefined ? 'untagged-reference' : 'foreign-reference'
}
