import { setTimeout as pauseFor } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { Backend, BackendResponse } from '../../backends/backend.js'
import { withEntryIdExtensions } from '../../backends/entry-ids.js'
import { isSubsetted, type StoredResource } from '../../mappings/fhir.js'
import { recheckTargets, toUnverifiedReferences, type ScanProgress } from './audit.js'
import type { AdoptionCriteria } from './adopt-criteria.js'
import type { Tenant } from '../../tenant-guard/tenant.js'
import type { ScanIndex } from './scan-index.js'
import { fetchCount, fetchCurrentRecord, isExportFile, requireOrder, scanAll, parseOwner } from './scan.js'
import { withRetry, mayHaveSucceeded, type RetryOptions, type SendAny } from '../../tenant-guard/retry.js'
import { printJson } from '../../json/json.js'
import { toFailureCause, parseJson } from '../../tenant-guard/tenant-context.js'
import { isId } from '../../fhir/names.js'

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
  readonly onProgress?: (progress: ScanProgress) => void
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
  const total = await countTotal(send, wanted)
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

async function countTotal (send: SendAny, wanted: readonly AdoptionCriteria[]): Promise<number> {
  let total = 0
  for (const { type, criteria } of wanted) total += await fetchCount(send, type, criteria) ?? 0
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
  const state = getOwnedState(record, tenant)
  if (state === undefined && !isExportFile(record)) {
    const outcome = isDryRun ? 'adopted' : await adoptRecord(toAdoption(run, criteria), record)
    const isOwn = outcome === 'adopted' || outcome === 'own'
    return ledger.storeRecord(
      { type, id, state: outcome, ...(isOwn && { tenantId: tenant.id }) },
      outcome === 'adopted' ? toUnverifiedReferences(record, run.backend) : []
    )
  }
  // A record that was just adopted appears again, because it was changed.
  if (ledger.getState(type, id) === 'adopted') return
  ledger.storeRecord({ type, id, state: state ?? 'export-file', ...state === 'own' && { tenantId: tenant.id } })
}

function toAdoption ({ send, tenant, pause }: Run, criteria: AdoptionCriteria['criteria']): Adoption {
  return {
    send,
    tenant,
    pause,
    again: ({ resourceType: type, id }) => fetchCurrentRecord(send, { type, id, criteria })
  }
}

/** How one record is adopted. */
interface Adoption {
  readonly send: SendAny
  readonly tenant: Tenant
  /** The record in its current state; undefined when it is gone or does not meet the operator's criteria any more. */
  readonly again: (record: StoredResource) => Promise<StoredResource | undefined>
  readonly pause?: (ms: number) => Promise<unknown>
}

/**
 * The outcome for a record: `gone` also if it no longer meets the criteria, `own`, `foreign` and `unclear` if it has a
 * tag of the tenant system by now. A failure has a reason, without any text of the record.
 */
type AdoptionOutcome = 'adopted' | 'own' | 'foreign' | 'unclear' | 'gone' | `failed: ${string}`

const maxTries = 5
const tryAgainMs = 50

/**
 * Adds the tenant's tag to a record that has none, and changes nothing else: the copy that was read is written back
 * with the tag, on condition that it is still the newest version. If it is not, the current version is examined again.
 */
async function adoptRecord (adoption: Adoption, first: StoredResource): Promise<AdoptionOutcome> {
  const { again, pause = pauseFor } = adoption
  let record: StoredResource | undefined = first
  let mayBeDone = false
  for (let attempt = 1; record !== undefined; attempt++) {
    const state = getOwnedState(record, adoption.tenant)
    if (state !== undefined) return state === 'own' && mayBeDone ? 'adopted' : state
    const result = await tag(adoption, record)
    if (result !== 'again' && result !== 'uncertain') return result
    if (attempt === maxTries) {
      return result === 'again'
        ? 'failed: changed by others again and again'
        : 'failed: the datastore failed, so it may be done'
    }
    mayBeDone ||= result === 'uncertain'
    await pause(tryAgainMs * attempt)
    record = await again(record)
  }
  return 'gone'
}

/**
 * The state of a record that an adoption leaves unchanged, since it has a tag of the tenant system; undefined if it has
 * none.
 */
function getOwnedState (record: StoredResource, tenant: Tenant): 'own' | 'foreign' | 'unclear' | undefined {
  const owner = parseOwner(record, tenant.system)
  if (owner.kind === 'none') return undefined
  if (owner.kind !== 'one') return 'unclear'
  return owner.tenantId === tenant.id ? 'own' : 'foreign'
}

async function tag (
  { send, tenant }: Adoption,
  record: StoredResource
): Promise<AdoptionOutcome | 'again' | 'uncertain'> {
  const { meta, resourceType, id } = record
  const tags = meta.tag ?? []
  // Without a version, a concurrent write of another client would be lost.
  if (!isId(meta.versionId)) return 'failed: the datastore gives its records no version'
  if (isSubsetted(record)) return 'failed: the datastore showed a part of it only'
  const tagged = { ...record, meta: { ...meta, tag: [...tags, { system: tenant.system, code: tenant.id }] } }
  const body = printJson(withEntryIdExtensions(tagged))
  const headers = { 'if-match': `W/"${meta.versionId}"`, prefer: 'return=representation' }
  try {
    return toOutcome(await send({ method: 'PUT', path: `${resourceType}/${id}`, headers, body }), record, tenant)
  } catch (error) {
    if (mayHaveSucceeded(error)) return 'uncertain'
    throw error
  }
}

function toOutcome (response: BackendResponse, record: StoredResource, tenant: Tenant): AdoptionOutcome | 'again' {
  const { status } = response
  if (status === 409 || status === 412 || status === 404 || status === 410) return 'again'
  if (status === 201) return 'failed: it was removed in the same moment and has come back'
  if (status !== 200) return `failed: the datastore refused it (${Object.values(toFailureCause(response)).join(' ')})`
  const stored = parseJson(response) as StoredResource
  const isDone = stored?.id === record.id && getOwnedState(stored, tenant) === 'own'
  return isDone ? 'adopted' : 'failed: the datastore did not keep the tag'
}
