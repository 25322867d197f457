import { Failure, type Referrer, type Referrers } from '../../envelope/failures.js'
import { requireIfMatch, parseVersions } from '../../envelope/preconditions.js'
import type { IdempotencyClaim, Result } from '../../idempotency/keyed-requests.js'
import {
  createdRecordDeleted, createWriteTrace, toCreateOnceCondition, ignoreNotFound
} from '../../idempotency/write-intent.js'
import { listLossWarnings } from '../../mappings/core/losses.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import { computeChangedFields, changeRecord, buildEchoWarnings } from '../../record-input/changed-record.js'
import { validateCreate, buildResource, listCompletionWarnings } from '../../record-input/new-record.js'
import { resolveIds, writeResolved } from '../../record-input/references.js'
import type { CreateResult, WrittenRecord } from '../../tenant-guard/guard.js'
import type { Trace } from '../../tenant-guard/interaction.js'
import { parseChanges, requireUnchanged, buildStaleNameWarnings, withoutClearedFields } from './changes.js'
import { read, type Context } from './reads.js'

/** The result of a write. The warnings, of what it lost or changed unseen, are the same for each repetition. */
export interface WriteResult extends WrittenRecord {
  /** Whether an earlier request with the same Idempotency-Key made it. */
  readonly isReplayed: boolean
}

/**
 * Stores a new record from the simple form: prepares it, and stores it; with a claim only once, even if an earlier run
 * was interrupted at any point.
 * @throws {Failure} VALIDATION_ERROR with every failing field
 */
export async function create (context: Context, body: unknown, claim?: IdempotencyClaim): Promise<WriteResult> {
  if (claim?.result !== undefined) {
    return toReplayedResult(await fetchFirstResponse(context, claim.result), claim.result)
  }
  const { mapping, store, createContext } = context
  const fields = await resolveIds(mapping, store, validateCreate(mapping, body, createContext))
  const { record, isNew, warnings } = await writeResolved(context, fields, async fields =>
    await storeNew(context, buildResource(mapping, fields), claim)
  )
  return await finishClaim(claim, {
    record, isReplayed: !isNew, warnings: [...listCompletionWarnings(mapping, fields), ...warnings]
  })
}

async function storeNew (context: Context, resource: FhirResource, claim?: IdempotencyClaim): Promise<CreateResult> {
  const { mapping: { type }, store } = context
  if (claim === undefined) return { ...await store.create({ kind: 'create', type, resource }), isNew: true }
  const made = await store.createOnce({ kind: 'create-once', type, resource, ...toCreateOnceCondition(claim) })
  return made.isNew ? made : { ...made, record: await fetchFirstVersion(context, made.record) }
}

/** The record as it was created, where the datastore counts and retains versions. */
async function fetchFirstVersion (context: Context, record: StoredResource): Promise<StoredResource> {
  if (record.meta.versionId === '1') return record
  return await ignoreNotFound(fetchVersion(context, { id: record.id, version: '1' })) ?? record
}

async function fetchFirstResponse (context: Context, result: Result): Promise<StoredResource> {
  const record = await ignoreNotFound(fetchVersion(context, result))
  if (record === undefined) throw createdRecordDeleted()
  return record
}

function fetchVersion ({ mapping: { type }, store }: Context, { id, version }: Result): Promise<StoredResource> {
  return version === undefined
    ? store.read({ kind: 'read', type, id })
    : store.vread({ kind: 'vread', type, id, version })
}

const toReplayedResult = (record: StoredResource, { warnings = [] }: Result): WriteResult =>
  ({ record, isReplayed: true, warnings })

/** The result of a write, stored under the claim for a repetition of the request. */
async function finishClaim (claim: IdempotencyClaim | undefined, result: WriteResult): Promise<WriteResult> {
  const { record: { id, meta }, warnings } = result
  await claim?.finish({ id, version: meta.versionId, warnings })
  return result
}

/** A change that a client requests. */
interface Update {
  readonly id: string
  readonly body: unknown
  readonly ifMatch?: string | undefined
}

/**
 * Changes a record by a merge or a JSON Patch on its simple form; elements that it does not show stay. With a claim
 * only once, like {@link create}.
 * @throws {Failure} NOT_FOUND, PRECONDITION_FAILED, CONFLICT, VALIDATION_ERROR
 */
export async function update (context: Context, change: Update, claim?: IdempotencyClaim): Promise<WriteResult> {
  if (claim?.result !== undefined) return toReplayedResult(await fetchVersion(context, claim.result), claim.result)
  const { mapping: { type }, store } = context
  const trace = claim === undefined ? noTrace : createWriteTrace({ store, type }, claim)
  return await finishClaim(claim, await updateLatest(context, change, trace))
}

const noTrace: Trace = { findEarlierWrite: async () => undefined, leave: (_, __, write) => write() }

/** How often a change is tried when other writers change the record at the same time. */
const maxAttempts = 8

/** When another writer was faster, the change is made again on the new state, unless the client required a version. */
async function updateLatest (
  context: Context,
  { id, body, ifMatch }: Update,
  trace: Trace
): Promise<WriteResult> {
  for (let attempt = 1; ; attempt++) {
    const before = await read(context, id)
    const made = await trace.findEarlierWrite(before)
    if (made !== undefined) return { record: made, isReplayed: true, warnings: [] }
    requireIfMatch(ifMatch, before.meta.versionId)
    requireUnchanged(body, before.meta.versionId)
    try {
      return { ...await updateFrom(context, before, { body, trace }), isReplayed: false }
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'CONFLICT') throw error
      if (ifMatch !== undefined) throw new Failure('PRECONDITION_FAILED', { cause: error })
      if (attempt === maxAttempts) throw error
    }
  }
}

async function updateFrom (
  { mapping, store }: Context,
  before: StoredResource,
  { body, trace }: { readonly body: unknown, readonly trace: Trace }
): Promise<WrittenRecord> {
  const current = mapping.present(before)
  const change = computeChangedFields(
    mapping,
    withoutClearedFields(parseChanges(body, current), body, current),
    current
  )
  const { changed } = change
  const complete = await resolveIds(mapping, store, changed)
  return await writeResolved({ mapping, store }, complete, async fields => {
    const resource: FhirResource = changeRecord(mapping, before, { ...change, changed: fields })
    if (resource === before) return { record: before, warnings: [] }
    const version = before.meta.versionId
    if (version === undefined) throw new Failure('BACKEND_ERROR', { cause: 'the datastore returned no version' })
    const write = (): Promise<WrittenRecord> =>
      store.update({ kind: 'update', type: mapping.type, id: before.id, resource, version, before })
    const { record, warnings } = await trace.leave(resource, version, write)
    const own = [
      ...listCompletionWarnings(mapping, changed),
      ...listLossWarnings(mapping, before, resource),
      ...buildEchoWarnings(mapping, change, resource),
      ...buildStaleNameWarnings(body, current, changed)
    ]
    return { record, warnings: [...own, ...warnings] }
  })
}

interface Removal {
  readonly id: string
  readonly ifMatch: string | undefined
  /** Whether a conflict lists the records that refer to this one. */
  readonly listsReferrers: boolean
  /** The paths of the resource groups by their types. */
  readonly paths: ReadonlyMap<string, string>
}

/**
 * Deletes a resource.
 * @throws {Failure} NOT_FOUND, PRECONDITION_FAILED, CONFLICT while others refer to it, with the paths to delete them at
 */
export async function remove (
  { mapping, store }: Context,
  { id, ifMatch, listsReferrers, paths }: Removal
): Promise<void> {
  const versions = parseVersions(ifMatch, 'If-Match') ?? '*'
  if (versions !== '*' && versions.length > 1) {
    throw new Failure('BAD_REQUEST', { message: 'If-Match: expected one ETag.' })
  }
  const version = versions === '*' ? undefined : versions[0]
  const { type } = mapping
  try {
    await store.delete({ kind: 'delete', type, id, listsReferrers, ...version !== undefined && { version } })
  } catch (error) {
    throw error instanceof Failure && error.details !== undefined ? withPaths(error, error.details, paths) : error
  }
}

/** The same failure, with the path at which each record is deleted. */
function withPaths (failure: Failure, { referrers, hasMore }: Referrers, paths: Removal['paths']): Failure {
  const { code, message, issues, cause } = failure
  const withPath = (referrer: Referrer): Referrer => {
    const { type, id } = referrer
    return { ...referrer, path: `/v1/${paths.get(type) ?? `fhir/${type}`}/${id}` }
  }
  return new Failure(code, { message, issues, cause, details: { referrers: referrers.map(withPath), hasMore } })
}
