import type { StoredResource } from '../mappings/fhir.js'
import { toReference } from './access.js'
import {
  sendRequest,
  jsonOf,
  verifyAndRememberOwned,
  ownershipScope,
  unexpectedResponse,
  type TenantContext
} from './tenant-context.js'
import { mapConcurrently } from './map-concurrently.js'
import { isId, isTenantType } from './resource-types.js'
import { identityElements, singlePage, restrict } from './restrict.js'
import { searchsetOf } from './reads/searchset.js'

/** Ids per search, few enough that a server with small pages can still respond with one. */
const idsOfOneSearch = 200

/**
 * Which of these records (`Type/id`) are the tenant's and not deleted. Known ones cost nothing; the others are searched
 * for by type, with a few searches at once.
 */
export async function filterOwned (context: TenantContext, records: Iterable<string>): Promise<ReadonlySet<string>> {
  const scope = ownershipScope(context)
  const owned = new Set<string>()
  const unknown = new Map<string, Set<string>>()
  for (const record of records) {
    const [type, id] = record.split('/') as [string, string]
    if (context.ownership.isKnown(scope, record)) owned.add(record)
    else unknown.set(type, (unknown.get(type) ?? new Set()).add(id))
  }
  const searches = [...unknown].flatMap(([type, ids]) => chunksOf([...ids]).map(chunk => ({ type, chunk })))
  const found = await mapConcurrently(searches, async ({ type, chunk }) =>
    (await storedOf(context, { type, ids: chunk, isComplete: false })).map(toReference)
  )
  for (const record of found.flat()) owned.add(record)
  return owned
}

/** The first of the candidates that is the tenant's. Those after a known one need no look-up. */
export async function firstOwned (context: TenantContext, candidates: readonly string[]): Promise<string | undefined> {
  const possible = candidates.filter(isRecord)
  const known = possible.findIndex(record => context.ownership.isKnown(ownershipScope(context), record))
  const owned = await filterOwned(context, known < 0 ? possible : possible.slice(0, known + 1))
  return possible.find(record => owned.has(record))
}

function isRecord (candidate: string): boolean {
  const [type, id, ...rest] = candidate.split('/')
  return isTenantType(type!) && isId(id) && rest.length === 0
}

/** Records to be looked up by their ids. */
export interface RecordQuery {
  readonly type: string
  readonly ids: readonly string[]
  /** Whether whole records are needed, or only their identity. */
  readonly isComplete: boolean
}

/** Those of the records that are the tenant's and stored now, by their ids; even known ones are fetched. */
export async function fetchByIds (
  context: TenantContext,
  { ids, ...request }: RecordQuery
): Promise<ReadonlyMap<string, StoredResource>> {
  const found = await mapConcurrently(chunksOf(ids), chunk => storedOf(context, { ids: chunk, ...request }))
  return new Map(found.flat().map(record => [record.id, record]))
}

function chunksOf (ids: readonly string[]): string[][] {
  return Array.from({ length: Math.ceil(ids.length / idsOfOneSearch) }, (_, at) =>
    ids.slice(at * idsOfOneSearch, (at + 1) * idsOfOneSearch)
  )
}

async function storedOf (context: TenantContext, { type, ids, isComplete }: RecordQuery): Promise<StoredResource[]> {
  const search = restrict(
    {
      type,
      parameters: [['_id', ids.join(',')]],
      count: ids.length,
      total: 'none',
      shape: isComplete ? [] : identityElements(type)
    },
    context.tenant
  )
  const response = await sendRequest(context, { ...search, headers: { 'cache-control': singlePage(ids.length) } })
  const found = response.status === 200 ? searchsetOf(jsonOf(response)) : undefined
  if (found === undefined) throw unexpectedResponse(response, 'a look-up of records was not answered')
  return found.matches
    .map(match => verifyAndRememberOwned(context, match, { type }))
    .filter(record => record !== undefined)
}
