import type { StoredResource } from '../../mappings/fhir.js'
import { jsonOf, unexpected } from '../door.js'
import type { SearchParameter } from '../interaction.js'
import { isTenantType, sharedTypes } from '../resource-types.js'
import { encodeParameters } from '../restrict.js'
import { searchsetOf } from '../reads/searchset.js'
import type { Send } from './walk-patience.js'

/** The resource types that a datastore says it serves. */
export interface ServedTypes {
  /** Those that tenants can have records of, the ones that others refer to first. */
  readonly tenant: readonly string[]
  /** Those that belong to nobody: conformance types and Subscription. */
  readonly shared: readonly string[]
}

/** Others refer to these most; whoever has met them first need not remember so many references. */
const oftenReferredTo = ['Organization', 'Location', 'Practitioner', 'PractitionerRole', 'Patient', 'Device', 'EpisodeOfCare', 'Encounter']

/** Reads the types from the datastore's CapabilityStatement. */
export async function servedTypes (send: Send): Promise<ServedTypes> {
  const answer = await send({ method: 'GET', path: 'metadata' })
  const { resourceType, rest } = (answer.status === 200 ? jsonOf(answer) : {}) as { resourceType?: unknown, rest?: unknown }
  if (resourceType !== 'CapabilityStatement' || !Array.isArray(rest)) throw unexpected(answer, 'the datastore shows no CapabilityStatement')
  const named = rest.flatMap(({ resource }) => Array.isArray(resource) ? resource.map(({ type }) => String(type)) : [])
  const types = [...new Set(named)].sort()
  const rank = (type: string): number => (oftenReferredTo.indexOf(type) + 1) || Infinity
  return {
    tenant: types.filter(isTenantType).sort((one, other) => rank(one) === rank(other) ? 0 : rank(one) - rank(other)),
    shared: types.filter(type => sharedTypes.has(type))
  }
}

/** How many records of a type meet the criteria; undefined when the datastore does not count them. */
export async function countOf (send: Send, type: string, criteria: readonly SearchParameter[] = []): Promise<number | undefined> {
  const answer = await send({ method: 'GET', path: `${type}?${encodeParameters([...criteria, ['_summary', 'count']])}`, headers: { 'cache-control': 'no-cache' } })
  return answer.status === 200 ? searchsetOf(jsonOf(answer))?.total : undefined
}

/** Ids of one search; the longest make a path of 3 KiB. */
const idsOfOneSearch = 50

/** What of a record is wanted. */
export type Part = 'whole' | 'meta'

/** The records with these references (`Type/id`) that are there now; a type that the datastore does not serve has none. */
export async function recordsNow (send: Send, references: Iterable<string>, part: Part): Promise<ReadonlyMap<string, StoredResource>> {
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

interface Sought { readonly type: string, readonly ids: readonly string[], readonly part: Part, readonly criteria?: readonly SearchParameter[] }

/** One record as it is now; undefined when it is gone or does not meet the criteria. */
export async function recordNow (send: Send, { type, id, criteria }: { readonly type: string, readonly id: string, readonly criteria: readonly SearchParameter[] }): Promise<StoredResource | undefined> {
  return (await withIds(send, { type, ids: [id], part: 'whole', criteria }))[0]
}

async function withIds (send: Send, { type, ids, part, criteria = [] }: Sought): Promise<StoredResource[]> {
  const elements: SearchParameter[] = part === 'meta' ? [['_elements', 'id,meta']] : []
  const path = `${type}?${encodeParameters([...criteria, ['_id', ids.join(',')], ...elements, ['_count', String(ids.length)], ['_total', 'none']])}`
  const answer = await send({ method: 'GET', path, headers: { 'cache-control': 'no-cache, no-store' } })
  if (answer.status === 404) return []
  const found = answer.status === 200 ? searchsetOf(jsonOf(answer)) : undefined
  if (found === undefined) throw unexpected(answer, 'a look-up of records was not answered')
  return (found.matches as StoredResource[]).filter(record => record.resourceType === type && ids.includes(record.id))
}
