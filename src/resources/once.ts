import { Failure } from '../envelope/failures.js'
import { lifetimeMs, type Claim, type Intent, type Result } from '../idempotency/keyed-requests.js'
import type { FhirResource, StoredResource } from '../mappings/fhir.js'
import type { Made } from '../tenant-guard/guard.js'
import { create, createBy, update, type Context, type Trace, type Update } from './interactions.js'

/** What a write answers with. */
export interface Written {
  readonly stored: StoredResource
  /** Whether an earlier request with the same Idempotency-Key made it. */
  readonly isReplayed: boolean
}

/** Creates a resource; with a claim once, also when a run before this one was broken off anywhere. */
export async function createOnce (context: Context, body: unknown, claim?: Claim): Promise<Written> {
  if (claim === undefined) return { stored: await create(context, body), isReplayed: false }
  if (claim.result !== undefined) return { stored: await firstAnswer(context, claim.result), isReplayed: true }
  const { record, isNew } = await createBy(context, body, resource => madeOnce(context, resource, claim))
  claim.finish({ id: record.id, version: record.meta.versionId })
  return { stored: record, isReplayed: !isNew }
}

async function firstAnswer (context: Context, result: Result): Promise<StoredResource> {
  const stored = await unlessGone(versionOf(context, result))
  if (stored !== undefined) return stored
  throw new Failure('CONFLICT', { message: 'The record that this request made was deleted since. To make it again, use a new Idempotency-Key.' })
}

function versionOf ({ mapping: { type }, store }: Context, { id, version }: Result): Promise<StoredResource> {
  return version === undefined ? store.read({ kind: 'read', type, id }) : store.vread({ kind: 'vread', type, id, version })
}

async function madeOnce (context: Context, resource: FhirResource, { marks, firstSeenAt }: Claim): Promise<Made> {
  const { mapping: { type }, store } = context
  const since = new Date(firstSeenAt.getTime() - lifetimeMs)
  const made = await store.createOnce({ kind: 'create-once', type, resource, marks, seenAt: firstSeenAt, since })
  return made.isNew ? made : { record: await firstVersionOf(context, made.record), isNew: false }
}

/** The record as it was created, where the datastore counts versions and keeps them. */
async function firstVersionOf (context: Context, record: StoredResource): Promise<StoredResource> {
  if (record.meta.versionId === '1') return record
  return await unlessGone(versionOf(context, { id: record.id, version: '1' })) ?? record
}

async function unlessGone (reading: Promise<StoredResource>): Promise<StoredResource | undefined> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Failure && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}

/** Changes a resource; with a claim once, as {@link createOnce}. */
export async function updateOnce (context: Context, change: Update, claim?: Claim): Promise<Written> {
  if (claim === undefined) return { stored: await update(context, change), isReplayed: false }
  if (claim.result !== undefined) return { stored: await versionOf(context, claim.result), isReplayed: true }
  const trace = traceOf(context, claim)
  let made: StoredResource | undefined
  const stored = await update(context, change, { ...trace, found: async before => (made = await trace.found(before)) })
  claim.finish({ id: stored.id, version: stored.meta.versionId })
  return { stored, isReplayed: made !== undefined }
}

function traceOf (context: Context, claim: Claim): Trace {
  const { intent: open } = claim
  return {
    found: async before => open && await madeBefore(context, before, open, claim),
    leave: async (resource, version, write) => {
      claim.intend({ version, content: claim.digestOf(contentOf(resource)) })
      try {
        return await write()
      } catch (error) {
        // While nobody knows about an earlier run, nothing is certain.
        if (open === undefined && error instanceof Failure && error.status < 500) claim.intend(undefined)
        throw error
      }
    }
  }
}

/**
 * The version that an earlier run wrote: the next one after that which it meant to replace, since only there the
 * datastore would have taken it. Undefined while that one is still to be replaced.
 */
async function madeBefore (context: Context, before: StoredResource, { version, content }: Intent, claim: Claim): Promise<StoredResource | undefined> {
  if (before.meta.versionId === version) return undefined
  const next = await versionAfter(context, before, version)
  if (next !== undefined && claim.digestOf(contentOf(next)) === content) return next
  throw new Failure('CONFLICT', {
    message: 'Whether this change was made earlier cannot be told any more, since the record was changed by others. Read it, and send what is still missing with a new Idempotency-Key.'
  })
}

async function versionAfter (context: Context, before: StoredResource, version: string): Promise<StoredResource | undefined> {
  const next = /^\d{1,15}$/.test(version) ? String(Number(version) + 1) : before.meta.versionId
  return before.meta.versionId === next ? before : await unlessGone(versionOf(context, { id: before.id, version: next }))
}

/** What a change decides; `meta` is the datastore's. */
function contentOf ({ meta: _, ...content }: FhirResource): unknown {
  return content
}
