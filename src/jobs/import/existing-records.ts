import { failureOf } from '../../envelope/error-handlers.js'
import type { ImportContext } from './import-context.js'
import type { IndexFile } from './index-file.js'

/** Records that are listed for each line, at most. */
const listedForALine = 5

/** Whether a record may have been there before the import. */
type MayBeThere = (id: string) => boolean

const underWay = new WeakMap<IndexFile, Map<string, Promise<void>>>()

/**
 * The tenant's records of a type that were there before this import wrote one. HAPI looks for ids that are not there
 * one by one, which takes as long as writing them; to list those that are there takes a tenth of that. Where there are
 * many more of them than lines, or the datastore does not list them, each line has to be requested: then any may be
 * there.
 */
export async function findExistingRecords (context: ImportContext, type: string): Promise<MayBeThere> {
  const { index, identities } = context
  if (index.isListed(type) === undefined) await listOnce(context, type)
  if (index.isListed(type) !== true) return () => true
  return index.hasEarlier ? id => index.isEarlier(identities.ofName(type, id)) : () => false
}

/** Several transactions are made ready at the same time. */
async function listOnce (context: ImportContext, type: string): Promise<void> {
  const listings = underWay.get(context.index) ?? new Map<string, Promise<void>>()
  underWay.set(context.index, listings)
  const listing = listings.get(type) ?? list(context, type).finally(() => listings.delete(type))
  listings.set(type, listing)
  await listing
}

async function list (context: ImportContext, type: string): Promise<void> {
  context.index.noteType(type, await isListed(context, type))
}

async function isListed (context: ImportContext, type: string): Promise<boolean> {
  const { index, store, identities, signal } = context
  const max = context.input.lines * listedForALine
  let count = 0
  try {
    for await (const ids of store.ids(type, max)) {
      signal.throwIfAborted()
      count += ids.length
      if (count > max) return false
      index.addEarlier(ids.map(id => identities.ofName(type, id)))
    }
    return true
  } catch (error) {
    if (!['BAD_REQUEST', 'BACKEND_ERROR'].includes(failureOf(error).code)) throw error
    return false
  }
}
