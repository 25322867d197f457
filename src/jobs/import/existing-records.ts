import { failureOf } from '../../envelope/error-handlers.js'
import type { ImportContext } from './import-context.js'
import type { IndexFile } from './index-file.js'

/** Maximum number of records listed per line of the input. */
const listedForALine = 5

/** Whether a record may have existed before the import. */
type MayBeThere = (id: string) => boolean

const underWay = new WeakMap<IndexFile, Map<string, Promise<void>>>()

/**
 * Finds the tenant's records of a type that existed before this import wrote one. HAPI looks up missing ids one by one,
 * which takes as long as writing them; listing the existing ones takes a tenth of that. Where there are many more
 * records than lines, or the datastore does not list them, each line has to be looked up: then any record may exist.
 */
export async function findExistingRecords (context: ImportContext, type: string): Promise<MayBeThere> {
  const { index, identities } = context
  if (index.isListed(type) === undefined) await listOnce(context, type)
  if (index.isListed(type) !== true) return () => true
  return index.hasEarlier ? id => index.isEarlier(identities.ofName(type, id)) : () => false
}

/** Several transactions are prepared concurrently, so they share one listing. */
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
