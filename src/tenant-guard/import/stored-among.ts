import type { StoredResource } from '../../mappings/fhir.js'
import { ask, jsonOf, ownRecordIn, unexpected } from '../door.js'
import type { Door } from '../door.js'
import { searchsetOf } from '../reads/searchset.js'
import { stretches, type WalkPlace } from '../reads/stretches.js'
import { identityOnly, onePage, restrict } from '../restrict.js'

/** Ids of one search, as many as a page that every server gives. */
const idsOfOneSearch = 200

/** What is asked for of the records with these ids. */
export interface AskedRecords {
  readonly type: string
  readonly ids: readonly string[]
  /** Whether all of each is needed; else its identity alone. */
  readonly isWhole: boolean
}

/** Those of the records that are the tenant's and stored now, by their ids; what is remembered of them is not asked. */
export async function storedAmong (door: Door, { ids, ...asked }: AskedRecords): Promise<ReadonlyMap<string, StoredResource>> {
  const chunks = Array.from({ length: Math.ceil(ids.length / idsOfOneSearch) }, (_, at) => ids.slice(at * idsOfOneSearch, (at + 1) * idsOfOneSearch))
  const found = await Promise.all(chunks.map(chunk => storedOf(door, { ids: chunk, ...asked })))
  return new Map(found.flat().map(record => [record.id, record]))
}

async function storedOf (door: Door, { type, ids, isWhole }: AskedRecords): Promise<StoredResource[]> {
  const search = restrict({ type, parameters: [['_id', ids.join(',')]], count: ids.length, total: 'none' }, door.tenant)
  const answer = await ask(door, { ...search, path: `${search.path}${isWhole ? '' : identityOnly(type)}`, headers: { 'cache-control': onePage(ids.length) } })
  const found = answer.status === 200 ? searchsetOf(jsonOf(answer)) : undefined
  if (found === undefined) throw unexpected(answer, 'a look-up of imported records was not answered')
  return found.matches.map(match => ownRecordIn(door, match, { type })).filter(record => record !== undefined)
}

/**
 * The ids of the tenant's records of a type, a part at a time; some may come twice.
 * @param expected how many are looked for at most, so that no larger pages are asked for
 */
export async function * idsOf (door: Door, type: string, expected: number): AsyncGenerator<readonly string[]> {
  const searching: WalkPlace['searching'] = (parameters, count) => {
    const search = restrict({ type, parameters, count, total: 'none' }, door.tenant)
    return { ...search, path: `${search.path}${identityOnly(type)}` }
  }
  const place: WalkPlace = { send: request => ask(door, request), baseUrl: door.backend.baseUrl, type, pageSize: Math.min(mostOfPage, expected + 1), searching }
  for await (const { records } of stretches(place)) {
    yield records.map(match => ownRecordIn(door, match, { type })).filter(record => record !== undefined).map(({ id }) => id)
  }
}

const mostOfPage = 1_000
