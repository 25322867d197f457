import { Failure } from '../envelope/failures.js'
import type { FhirResource, StoredResource } from '../mappings/fhir.js'
import type { GuardedStore } from '../tenant-guard/guard.js'
import type { Trace } from '../tenant-guard/interaction.js'
import { lifetimeMs, type Claim, type Intent } from './keyed-requests.js'

/** Where the versions of a record are looked for. */
interface TracePlace { readonly store: Pick<GuardedStore, 'vread'>, readonly type: string }

/** What a create carries that is to be made once. */
export function tracesOfCreate ({ marks, firstSeenAt }: Claim) {
  return { marks, seenAt: firstSeenAt, since: new Date(firstSeenAt.getTime() - lifetimeMs) }
}

/** How a change leaves a trace, and is told by it. */
export function traceOf (place: TracePlace, claim: Claim): Trace {
  const { intent: open } = claim
  return {
    found: async before => open && await madeBefore(place, before, open, claim),
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
async function madeBefore (place: TracePlace, before: StoredResource, { version, content }: Intent, claim: Claim): Promise<StoredResource | undefined> {
  if (before.meta.versionId === version) return undefined
  const next = await versionAfter(place, before, version)
  if (next !== undefined && claim.digestOf(contentOf(next)) === content) return next
  throw new Failure('CONFLICT', {
    message: 'The gateway can no longer tell whether this change was made, because others have changed the record since. Read the record, and send what is missing with a new Idempotency-Key.'
  })
}

async function versionAfter ({ store, type }: TracePlace, before: StoredResource, version: string): Promise<StoredResource | undefined> {
  const next = /^\d{1,15}$/.test(version) ? String(Number(version) + 1) : before.meta.versionId
  if (before.meta.versionId === next) return before
  return next === undefined ? undefined : await unlessGone(store.vread({ kind: 'vread', type, id: before.id, version: next }))
}

/** What a change decides; `meta` is the datastore's. */
function contentOf ({ meta: _, ...content }: FhirResource): unknown {
  return content
}

/** What is read, or undefined where it is not there any more. */
export async function unlessGone<T> (reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Failure && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}

/** Why a create has no answer any more. */
export function deletedSince (): Failure {
  return new Failure('CONFLICT', { message: 'The record that this request created was deleted since. To create it again, use a new Idempotency-Key.' })
}
