import pLimit from 'p-limit'
import type { Backend } from '../../backends/backend.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { recheckTargets } from './audit-recheck.js'
import { suspectsIn, type WalkProgress } from './audit.js'
import type { AdoptionCriteria } from './adopt-criteria.js'
import { adoptRecord, ownedState, type Adoption } from './adopt-record.js'
import type { Tenant } from '../../tenant-guard/tenant.js'
import type { ScanIndex } from './scan-index.js'
import { countOf, recordNow } from './walk-look-up.js'
import { isExportFile } from './walk-owner.js'
import { withRetry, type RetryOptions, type SendAny } from '../../tenant-guard/retry.js'
import { requireOrder, scanAll } from './walk.js'

/** The options of an adoption: which records are assigned to which tenant. */
export interface AdoptParts extends Pick<RetryOptions, 'pause'> {
  readonly backend: Backend
  readonly tenant: Tenant
  readonly criteria: readonly AdoptionCriteria[]
  /** Determines the outcomes without writing. */
  readonly isDryRun: boolean
  /** Writes at a time, as long as the datastore does not accept fewer. */
  readonly parallel: number
  /**
   * An empty index, for the outcome of each record, and the references of adopted ones to records that are not the
   * tenant's.
   */
  readonly ledger: ScanIndex
  readonly onProgress?: (progress: WalkProgress) => void
  /** Records a page. */
  readonly pageSize?: number
}

type Limit = ReturnType<typeof pLimit>

/** The shared state of one run. */
interface Run extends AdoptParts { readonly send: SendAny, readonly limit: Limit }

/**
 * Adds a tenant's tag to the selected records without a tag of the tenant system; others stay unchanged. It can be
 * ended at any time and run again: a record either has the tag or not, and one that has it is not written again.
 */
export async function adopt (parts: AdoptParts): Promise<void> {
  const { backend, parallel, criteria: wanted, pause, onProgress = () => {} } = parts
  const limit = pLimit(parallel)
  const send = withRetry(backend, {
    pause,
    onBusy: () => {
      limit.concurrency = Math.max(1, Math.floor(limit.concurrency / 2))
    }
  })
  const run = { ...parts, send, limit }
  const total = await totalOf(send, wanted)
  let seen = 0
  for (const { type, criteria } of wanted) {
    await requireOrder({ send, baseUrl: backend.baseUrl, type, criteria })
  }
  for (const { type, criteria } of wanted) {
    for await (const records of scanAll({ send, baseUrl: backend.baseUrl, type, criteria, pageSize: parts.pageSize })) {
      await adoptPage(run, records, criteria)
      seen += records.length
      onProgress({ seen, total, type })
      if (limit.concurrency < parallel) limit.concurrency++
    }
  }
  await recheckTargets({ ...run, baseUrl: backend.baseUrl, tenantSystem: parts.tenant.system }, parts.tenant.id)
}

async function totalOf (send: SendAny, wanted: readonly AdoptionCriteria[]): Promise<number> {
  let total = 0
  for (const { type, criteria } of wanted) total += await countOf(send, type, criteria) ?? 0
  return total
}

/** Waits for all that was begun, also when one of them ends the run. */
async function adoptPage (
  run: Run,
  records: readonly StoredResource[],
  criteria: AdoptionCriteria['criteria']
): Promise<void> {
  const failures: unknown[] = []
  await Promise.all(
    records.map(record =>
      run.limit(async () => {
        if (failures.length > 0) return
        await adoptOne(run, record, criteria).catch(error => {
          failures.push(error)
        })
      })
    )
  )
  if (failures.length > 0) throw failures[0]
}

async function adoptOne (run: Run, record: StoredResource, criteria: AdoptionCriteria['criteria']): Promise<void> {
  const { ledger, tenant, isDryRun } = run
  const { resourceType: type, id } = record
  const state = ownedState(record, tenant)
  if (state === undefined && !isExportFile(record)) {
    const outcome = isDryRun ? 'adopted' : await adoptRecord(adoptionOf(run, criteria), record)
    const isOwn = outcome === 'adopted' || outcome === 'own'
    return ledger.note(
      { type, id, state: outcome, ...(isOwn && { tenantId: tenant.id }) },
      outcome === 'adopted' ? suspectsIn(record, run.backend) : []
    )
  }
  // A record that was just adopted appears again, because it was changed.
  if (ledger.stateOf(type, id) === 'adopted') return
  ledger.note({ type, id, state: state ?? 'export-file', ...state === 'own' && { tenantId: tenant.id } })
}

function adoptionOf ({ send, tenant, pause }: Run, criteria: AdoptionCriteria['criteria']): Adoption {
  return { send, tenant, pause, again: ({ resourceType: type, id }) => recordNow(send, { type, id, criteria }) }
}
