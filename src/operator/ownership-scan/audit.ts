import type { Backend } from '../../backends/backend.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { collectReferences } from '../../tenant-guard/writes/references.js'
import type { ScanIndex, UnverifiedReference, ReferenceFinding, SuspectReference } from './scan-index.js'
import { discoverServedTypes } from '../../tenant-guard/served-types.js'
import { fetchCount, isExportFile, parseOwner, requireOrder, scanAll, fetchCurrent } from './scan.js'
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
  readonly onProgress?: (progress: ScanProgress) => void
  /** Records a page. */
  readonly pageSize?: number
}

/** The progress of a scan, in records. The total is the datastore's earlier count, so it may be exceeded. */
export interface ScanProgress { readonly seen: number, readonly total: number, readonly type: string }

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
  const served = await discoverServedTypes(send)
  const types = served.tenant.filter(type => parts.types?.includes(type) ?? true)
  const total = Object.values(await countByType(send, types)).reduce((sum, count) => sum + count, 0)
  const shared = parts.types === undefined ? await countByType(send, served.shared) : {}
  let seen = 0
  for (const type of types) {
    await requireOrder({ send, baseUrl: backend.baseUrl, type })
    for await (const records of scanAll({ send, baseUrl: backend.baseUrl, type, pageSize: parts.pageSize })) {
      ledger.runInTransaction(() => { for (const record of records) indexRecord(record, parts) })
      seen += records.length
      onProgress({ seen, total, type })
    }
  }
  await verifyFindings({ ...parts, send, baseUrl: backend.baseUrl })
  return { records: ledger.countRecords().reduce((sum, { count }) => sum + count, 0), shared }
}

async function countByType (send: Send, types: readonly string[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const type of types) {
    const count = await fetchCount(send, type)
    if (count) counts[type] = count
  }
  return counts
}

const tagStates = { none: 'no-tag', several: 'several-tags', unclear: 'unclear-tag' } as const

function indexRecord (record: StoredResource, { ledger, tenantSystem, backend }: AuditParts): void {
  const { resourceType: type, id } = record
  const owner = parseOwner(record, tenantSystem)
  if (owner.kind === 'one') {
    return ledger.storeRecord(
      { type, id, tenantId: owner.tenantId, state: 'owned' },
      toUnverifiedReferences(record, backend)
    )
  }
  ledger.storeRecord({ type, id, state: isExportFile(record) ? 'export-file' : tagStates[owner.kind] })
}

/** The references of a record. */
export function toUnverifiedReferences (
  record: StoredResource, { baseUrl }: Pick<Backend, 'baseUrl'>
): UnverifiedReference[] {
  return collectReferences(record, [baseUrl]).map(({ path, record: target }) => ({ path, target }))
}

/** The parts needed to verify references. */
interface VerifyParts {
  readonly send: Send
  readonly baseUrl: string
  readonly tenantSystem: string
  readonly ledger: ScanIndex
}

const suspectsAtOnce = 200

/** Checks each unverified reference once more, and records a fault if it is still wrong. */
async function verifyFindings (context: VerifyParts): Promise<void> {
  const { send, ledger } = context
  for (const suspects of ledger.readSuspects(suspectsAtOnce)) {
    const sources = await fetchCurrent(send, suspects.map(({ source }) => source), 'whole')
    const targets = await fetchTargets(suspects, context)
    for (const suspect of suspects) {
      const source = sources.get(suspect.source)
      if (source !== undefined && hasReference(source, suspect, context)) {
        noteFault(suspect, { ...context, tenantId: getTenant(source, context), targets })
      }
    }
  }
}

/** The same for the references of one tenant only, whose records need not be read again or are not tagged yet. */
export async function recheckTargets (context: VerifyParts, tenantId: string): Promise<void> {
  for (const suspects of context.ledger.readSuspects(suspectsAtOnce)) {
    const targets = await fetchTargets(suspects, context)
    for (const suspect of suspects) noteFault(suspect, { ...context, tenantId, targets })
  }
}

function fetchTargets (suspects: readonly SuspectReference[], { send }: VerifyParts): ReturnType<typeof fetchCurrent> {
  return fetchCurrent(send, suspects.map(({ target }) => target).filter(target => target !== undefined), 'meta')
}

function hasReference (source: StoredResource, { path, target }: SuspectReference, { baseUrl }: VerifyParts): boolean {
  return collectReferences(source, [baseUrl]).some(link => link.path === path && link.record === target)
}

interface TargetContext extends VerifyParts {
  readonly tenantId: string | undefined
  readonly targets: ReadonlyMap<string, StoredResource>
}

function noteFault ({ source, path, target }: SuspectReference, known: TargetContext): void {
  const { tenantId, targets, ledger } = known
  const record = target === undefined ? undefined : targets.get(target)
  const targetTenantId = record && getTenant(record, known)
  if (tenantId === undefined || targetTenantId === tenantId) return
  ledger.addFault({
    source,
    path,
    target,
    tenantId,
    targetTenantId,
    finding: classifyReference(target, record, targetTenantId)
  } satisfies ReferenceFinding)
}

function getTenant (record: StoredResource, { tenantSystem }: VerifyParts): string | undefined {
  const owner = parseOwner(record, tenantSystem)
  return owner.kind === 'one' ? owner.tenantId : undefined
}

function classifyReference (
  target: string | undefined,
  record: StoredResource | undefined,
  targetTenantId: string | undefined
): string {
  if (target === undefined) return 'outside-reference'
  if (record === undefined) return 'dangling-reference'
  return targetTenantId === undefined ? 'untagged-reference' : 'foreign-reference'
}
