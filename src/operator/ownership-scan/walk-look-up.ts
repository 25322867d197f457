import type { StoredResource } from '../../mappings/fhir.js'
import { jsonOf } from '../../tenant-guard/tenant-context.js'
import type { SearchParameter } from '../../tenant-guard/interaction.js'
import { encodeParameters } from '../../tenant-guard/restrict.js'
import { parseBundle, requireBundle } from '../../tenant-guard/reads/backend-bundle.js'
import type { Send } from '../../tenant-guard/retry.js'

/** How many records of a type meet the criteria; undefined when the datastore does not count them. */
export async function countOf (
  send: Send,
  type: string,
  criteria: readonly SearchParameter[] = []
): Promise<number | undefined> {
  const response = await send({
    method: 'GET',
    path: `${type}?${encodeParameters([...criteria, ['_summary', 'count']])}`,
    headers: { 'cache-control': 'no-cache' }
  })
  return response.status === 200 ? parseBundle(jsonOf(response))?.total : undefined
}

/** Ids of one search; the longest make a path of 3 KiB. */
const idsOfOneSearch = 50

/** Which part of a record is requested. */
type Part = 'whole' | 'meta'

/**
 * The records with these references (`Type/id`) that are there now; a type that the datastore does not serve has none.
 */
export async function fetchCurrent (
  send: Send,
  references: Iterable<string>,
  part: Part
): Promise<ReadonlyMap<string, StoredResource>> {
  const found = new Map<string, StoredResource>()
  for (const [type, all] of idsByType(references)) {
    for (let at = 0; at < all.length; at += idsOfOneSearch) {
      const ids = all.slice(at, at + idsOfOneSearch)
      for (const record of await withIds(send, { type, ids, part })) found.set(`${type}/${record.id}`, record)
    }
  }
  return found
}

function idsByType (references: Iterable<string>): Map<string, string[]> {
  const ids = new Map<string, string[]>()
  for (const reference of new Set(references)) {
    const [type, id] = reference.split('/') as [string, string]
    ids.set(type, [...ids.get(type) ?? [], id])
  }
  return ids
}

interface Sought {
  readonly type: string
  readonly ids: readonly string[]
  readonly part: Part
  readonly criteria?: readonly SearchParameter[]
}

/** One record in its current state; undefined when it is gone or does not meet the criteria. */
export async function recordNow (
  send: Send,
  { type, id, criteria }: { readonly type: string; readonly id: string; readonly criteria: readonly SearchParameter[] }
): Promise<StoredResource | undefined> {
  return (await withIds(send, { type, ids: [id], part: 'whole', criteria }))[0]
}

async function withIds (send: Send, { type, ids, part, criteria = [] }: Sought): Promise<StoredResource[]> {
  const elements: SearchParameter[] = part === 'meta' ? [['_elements', 'id,meta']] : []
  const path = `${type}?${encodeParameters([...criteria, ['_id', ids.join(',')], ...elements, ['_count', String(ids.length)], ['_total', 'none']])}`
  const response = await send({ method: 'GET', path, headers: { 'cache-control': 'no-cache, no-store' } })
  if (response.status === 404) return []
  const { matches } = requireBundle(response, 'a look-up of records was not answered')
  return (matches as StoredResource[]).filter(record => record.resourceType === type && ids.includes(record.id))
}
