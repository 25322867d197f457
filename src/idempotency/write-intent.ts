import { Failure } from '../envelope/failures.js'
import type { FhirResource, StoredResource } from '../mappings/fhir.js'
import type { TenantStore } from '../tenant-guard/guard.js'
import type { Trace } from '../tenant-guard/interaction.js'
import { lifetimeMs, type IdempotencyClaim, type Intent } from './keyed-requests.js'

/** The store and the type in which versions of a record are read. */
interface WriteIntentContext { readonly store: Pick<TenantStore, 'vread'>, readonly type: string }

/** The tags that identify a create that must happen only once, and the times of the request. */
export function toCreateOnceCondition ({ tags, firstSeenAt }: IdempotencyClaim) {
  return { tags, seenAt: firstSeenAt, since: new Date(firstSeenAt.getTime() - lifetimeMs) }
}

/** How a change leaves a trace, and is recognized by it. */
export function createWriteTrace (intentContext: WriteIntentContext, claim: IdempotencyClaim): Trace {
  const { intent: open } = claim
  return {
    findEarlierWrite: async before => open && await findEarlierWrite(intentContext, before, { intent: open, claim }),
    leave: async (resource, version, write) => {
      await claim.intend({ version, content: claim.digestOf(withoutMeta(resource)) })
      try {
        return await write()
      } catch (error) {
        // If the outcome of an earlier attempt is unknown, nothing is certain.
        if (open === undefined && error instanceof Failure && error.status < 500) await claim.intend(undefined)
        throw error
      }
    }
  }
}

/**
 * The version that an earlier attempt wrote: the one after that which it replaced, since the datastore accepts it
 * nowhere else. Undefined while that is still the latest.
 * @throws {Failure} CONFLICT if later changes hide it
 */
async function findEarlierWrite (
  intentContext: WriteIntentContext,
  before: StoredResource,
  { intent: { version, content }, claim }: { readonly intent: Intent, readonly claim: IdempotencyClaim }
): Promise<StoredResource | undefined> {
  if (before.meta.versionId === version) return undefined
  const next = await findVersionAfter(intentContext, before, version)
  if (next !== undefined && claim.digestOf(withoutMeta(next)) === content) return next
  throw new Failure('CONFLICT', {
    message:
      'The gateway can no longer tell whether this change was made, because others have changed the record since. Read the record, and send what is missing with a new Idempotency-Key.'
  })
}

async function findVersionAfter (
  { store, type }: WriteIntentContext,
  before: StoredResource,
  version: string
): Promise<StoredResource | undefined> {
  const next = /^\d{1,15}$/.test(version) ? String(Number(version) + 1) : before.meta.versionId
  if (before.meta.versionId === next) return before
  return next === undefined
    ? undefined
    : await ignoreNotFound(store.vread({ kind: 'vread', type, id: before.id, version: next }))
}

/** The content that a change determines: everything except `meta`, which the datastore changes. */
function withoutMeta ({ meta: _, ...content }: FhirResource): unknown {
  return content
}

/** The result of a read, or undefined if the record no longer exists. */
export async function ignoreNotFound<T> (reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Failure && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}

/** The response to a repeated create whose record was deleted. */
export function createdRecordDeleted (): Failure {
  return new Failure('CONFLICT', {
    message: 'The record that this request created was deleted since. To create it again, use a new Idempotency-Key.'
  })
}
