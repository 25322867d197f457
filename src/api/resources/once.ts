import type { IdempotencyClaim, Result } from '../../idempotency/keyed-requests.js'
import { deletedSince, writeIntentOf, createIntents, ifExists } from '../../idempotency/write-intent.js'
import type { Issue } from '../../envelope/failures.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import type { CreateResult, WrittenRecord } from '../../tenant-guard/guard.js'
import { create, prepareAndSave, update, type Context, type Update } from './interactions.js'

/** The result of a write. */
export interface WriteResult {
  readonly stored: StoredResource
  /** Whether an earlier request with the same Idempotency-Key made it. */
  readonly isReplayed: boolean
  /** What the write lost or changed unseen; the same for each repetition. */
  readonly warnings: readonly Issue[]
}

/** Creates a resource; with a claim only once, even if an earlier run was interrupted at any point. */
export async function createOnce (context: Context, body: unknown, claim?: IdempotencyClaim): Promise<WriteResult> {
  if (claim === undefined) return toResult(await create(context, body))
  if (claim.result !== undefined) return replayed(await firstResponse(context, claim.result), claim.result)
  const made = await prepareAndSave(context, body, resource => madeOnce(context, resource, claim))
  await finish(claim, made)
  return toResult(made, !made.isNew)
}

const toResult = ({ record, warnings }: WrittenRecord, isReplayed = false): WriteResult =>
  ({ stored: record, isReplayed, warnings })

async function finish (
  claim: IdempotencyClaim,
  { record: { id, meta }, warnings }: WrittenRecord
): Promise<void> {
  await claim.finish({ id, version: meta.versionId, warnings })
}

const replayed = (stored: StoredResource, { warnings = [] }: Result): WriteResult =>
  ({ stored, isReplayed: true, warnings })

async function firstResponse (context: Context, result: Result): Promise<StoredResource> {
  const stored = await ifExists(versionOf(context, result))
  if (stored === undefined) throw deletedSince()
  return stored
}

function versionOf ({ mapping: { type }, store }: Context, { id, version }: Result): Promise<StoredResource> {
  return version === undefined
    ? store.read({ kind: 'read', type, id })
    : store.vread({ kind: 'vread', type, id, version })
}

async function madeOnce (context: Context, resource: FhirResource, claim: IdempotencyClaim): Promise<CreateResult> {
  const { mapping: { type }, store } = context
  const made = await store.createOnce({ kind: 'create-once', type, resource, ...createIntents(claim) })
  return made.isNew ? made : { ...made, record: await firstVersionOf(context, made.record) }
}

/** The record as it was created, where the datastore counts and retains versions. */
async function firstVersionOf (context: Context, record: StoredResource): Promise<StoredResource> {
  if (record.meta.versionId === '1') return record
  return await ifExists(versionOf(context, { id: record.id, version: '1' })) ?? record
}

/** Changes a resource; with a claim only once, like {@link createOnce}. */
export async function updateOnce (context: Context, change: Update, claim?: IdempotencyClaim): Promise<WriteResult> {
  if (claim === undefined) return toResult(await update(context, change))
  if (claim.result !== undefined) return replayed(await versionOf(context, claim.result), claim.result)
  const trace = writeIntentOf({ store: context.store, type: context.mapping.type }, claim)
  let made: StoredResource | undefined
  const written = await update(context, change, {
    ...trace,
    found: async before => (made = await trace.found(before))
  })
  await finish(claim, written)
  return toResult(written, made !== undefined)
}
