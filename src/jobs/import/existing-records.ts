import { toFailure } from '../../envelope/error-handlers.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { isAppendOnly } from '../../tenant-guard/policy.js'
import type { DraftedLine } from './drafts.js'
import type { ImportContext } from './import-context.js'
import type { IndexFile } from './index-file.js'
import { toRecordId } from './line-ids.js'

/**
 * A line's id, and its stored record: complete for lines in the simple form and of evidence, only the identity for
 * others.
 */
export interface Target { readonly id: string, readonly before: StoredResource | undefined }

/**
 * Finds the ids under which lines are stored. First the record that an import made of a line with this name, then the
 * tenant's record with the name as its id; else a new record. Records of other tenants are invisible, and count as
 * missing.
 */
export async function findTargets (
  context: ImportContext,
  lines: readonly DraftedLine[]
): Promise<ReadonlyMap<number, Target>> {
  const groups = new Map<string, DraftedLine[]>()
  for (const line of lines) {
    const name = `${line.draft.type} ${line.draft.mapping !== undefined}`
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [line])
    else group.push(line)
  }
  const found = await Promise.all([...groups.values()].map(async group => await findTargetsOfGroup(context, group)))
  return new Map(found.flat())
}

async function findTargetsOfGroup (
  context: ImportContext,
  lines: readonly DraftedLine[]
): Promise<ReadonlyArray<readonly [number, Target]>> {
  const { type, mapping } = lines[0]!.draft
  const isComplete = mapping !== undefined || isAppendOnly(type)
  const mayExist = await findExistingRecords(context, type)
  // A line that was sent before may be stored, even if its record did not exist before this import.
  const requested = context.index.runInTransaction(() =>
    lines.flatMap(line => listCandidateIds(line).filter(id => line.line.plan !== null || mayExist(id)))
  )
  const stored =
    requested.length === 0
      ? new Map<string, StoredResource>()
      : await context.store.fetchStored({ type, ids: [...new Set(requested)], isComplete })
  return lines.map(line => {
    const ids = listCandidateIds(line)
    const before = ids.map(id => stored.get(id)).find(record => record !== undefined)
    return [line.line.line, { id: before?.id ?? ids[0], before }] as const
  })
}

/** The ids under which a line may be stored, the import's own first; if it was sent to be created, only that one. */
function listCandidateIds ({ line: { identity, plan }, draft: { name } }: DraftedLine): readonly [string, ...string[]] {
  return name === undefined || plan === 'created' ? [toRecordId(identity)] : [toRecordId(identity), name]
}

/** Maximum number of records listed per line of the input. */
const maxListedPerLine = 5

/** Whether a record may have existed before the import. */
type MayExist = (id: string) => boolean

const pendingListings = new WeakMap<IndexFile, Map<string, Promise<void>>>()

/**
 * Finds the tenant's records of a type that existed before this import wrote one. HAPI looks up missing ids one by one,
 * which takes as long as writing them; listing the existing ones takes a tenth of that. Where there are many more
 * records than lines, or the datastore does not list them, each line has to be looked up: then any record may exist.
 */
async function findExistingRecords (context: ImportContext, type: string): Promise<MayExist> {
  const { index, identities } = context
  if (index.isListed(type) === undefined) await listOnce(context, type)
  if (index.isListed(type) !== true) return () => true
  return index.hasEarlier ? id => index.isEarlier(identities.deriveFromName(type, id)) : () => false
}

/** Several transactions are prepared concurrently, so they share one listing. */
async function listOnce (context: ImportContext, type: string): Promise<void> {
  const listings = pendingListings.get(context.index) ?? new Map<string, Promise<void>>()
  pendingListings.set(context.index, listings)
  const listing = listings.get(type) ?? list(context, type).finally(() => listings.delete(type))
  listings.set(type, listing)
  await listing
}

async function list (context: ImportContext, type: string): Promise<void> {
  context.index.noteType(type, await tryListRecords(context, type))
}

async function tryListRecords (context: ImportContext, type: string): Promise<boolean> {
  const { index, store, identities, signal } = context
  const max = context.input.lines * maxListedPerLine
  let count = 0
  try {
    for await (const ids of store.listIds(type, max)) {
      signal.throwIfAborted()
      count += ids.length
      if (count > max) return false
      index.addEarlier(ids.map(id => identities.deriveFromName(type, id)))
    }
    return true
  } catch (error) {
    if (!['BAD_REQUEST', 'BACKEND_ERROR'].includes(toFailure(error).code)) throw error
    return false
  }
}
