import type { ReadRequest } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import { splitIntoChunks } from '../../json/chunks.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { toReference } from '../access.js'
import {
  sendRequest,
  parseJson,
  verifyAndRememberOwned,
  getOwnershipScope,
  unexpectedResponse,
  type TenantContext
} from '../tenant-context.js'
import { mapConcurrently } from '../map-concurrently.js'
import { isId } from '../../fhir/names.js'
import { isTenantType } from '../../fhir/resource-types.js'
import { getIdentityElements, toSinglePageCacheControl, restrict } from '../restrict.js'
import { parseBundle, requireBundle } from './backend-bundle.js'

/** Ids per search, few enough that a server with small pages can still respond with one. */
const idsOfOneSearch = 200

/**
 * Which of these records (`Type/id`) are the tenant's and not deleted. Known ones cost nothing; the others are searched
 * for by type, with a few searches at once.
 */
export async function filterOwned (context: TenantContext, records: Iterable<string>): Promise<ReadonlySet<string>> {
  const scope = getOwnershipScope(context)
  const owned = new Set<string>()
  const unknown: string[] = []
  for (const record of records) {
    if (context.ownership.isKnown(scope, record)) owned.add(record)
    else unknown.push(record)
  }
  const found = await mapConcurrently(groupIntoSearches(unknown, idsOfOneSearch), async search =>
    (await fetchStored(context, { ...search, isComplete: false })).map(toReference)
  )
  for (const record of found.flat()) owned.add(record)
  return owned
}

/**
 * Which of the candidates (`Type/id`) are the tenant's, of any type, in at most one call: a batch of one search for
 * each type. A candidate of no valid form, or of a type that the datastore does not serve, is not among them.
 */
export async function filterOwnedInBatch (
  context: TenantContext,
  candidates: Iterable<string>
): Promise<ReadonlySet<string>> {
  const records = [...new Set(candidates)].filter(isRecord)
  const isKnown = (record: string): boolean => context.ownership.isKnown(getOwnershipScope(context), record)
  const owned = new Set(records.filter(isKnown))
  const searches = groupIntoSearches(records.filter(record => !owned.has(record)), idsOfBatchEntry)
  const requests = searches.map(search => buildOwnedSearch(context, { ...search, isComplete: false }))
  const responses = await searchInBatch(context, requests, idsOfBatchEntry)
  for (const [at, { type }] of searches.entries()) {
    for (const match of parseMatches(responses[at]!)) {
      const record = verifyAndRememberOwned(context, match, { type })
      if (record !== undefined) owned.add(toReference(record))
    }
  }
  return new Set(records.filter(record => owned.has(record)))
}

/**
 * The response to each search by GET, with at most so many matches: of one batch, or of a call for each from a
 * datastore that has no batches.
 */
export async function searchInBatch (
  context: TenantContext,
  requests: readonly ReadRequest[],
  maxMatches: number
): Promise<readonly SearchResponse[]> {
  const headers = { 'cache-control': toSinglePageCacheControl(maxMatches) }
  if (requests.length > 1) {
    const entry = requests.map(({ path }) => ({ request: { method: 'GET', url: path } }))
    const body = JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry })
    const response = await sendRequest(context, { method: 'POST', path: '', isSafe: true, headers, body })
    const entries = response.status === 200 ? parseBundle(parseJson(response), 'batch-response')?.entries : undefined
    if (entries?.length === requests.length) return entries
    if (![400, 403, 404, 405, 415, 422, 501].includes(response.status)) {
      throw unexpectedResponse(response, 'a look-up of records of several types was not answered')
    }
  }
  return await mapConcurrently(requests, async request => {
    const response = await sendRequest(context, { ...request, headers })
    return { response, resource: response.status === 200 ? parseJson(response) : undefined }
  })
}

/** Ids of one entry of a batch, few enough for a search by GET. */
const idsOfBatchEntry = 50

/** The response to a search, alone or as an entry of a batch. */
interface SearchResponse {
  readonly resource?: unknown
  readonly response?: { readonly status?: unknown }
}

/** The matches of a search; none where the datastore refuses it, since it does not serve the type or parameter. */
export function parseMatches ({ resource, response }: SearchResponse): readonly unknown[] {
  const status = Number.parseInt(String(response?.status), 10)
  if (status >= 400 && status < 500) return []
  const found = status === 200 ? parseBundle(resource) : undefined
  if (found !== undefined) return found.matches
  throw new Failure('BACKEND_ERROR', { cause: { status, reason: 'a look-up of records was not answered' } })
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
  const found = await mapConcurrently(splitIntoChunks(ids, idsOfOneSearch), chunk =>
    fetchStored(context, { ids: chunk, ...request })
  )
  return new Map(found.flat().map(record => [record.id, record]))
}

/** The searches that find records (`Type/id`) by type, each with at most so many ids. */
function groupIntoSearches (
  records: Iterable<string>,
  maxIds: number
): ReadonlyArray<Pick<RecordQuery, 'type' | 'ids'>> {
  const byType = new Map<string, Set<string>>()
  for (const record of records) {
    const [type, id] = record.split('/') as [string, string]
    byType.set(type, (byType.get(type) ?? new Set()).add(id))
  }
  return [...byType].flatMap(([type, ids]) => splitIntoChunks([...ids], maxIds).map(chunk => ({ type, ids: chunk })))
}

/** A search for the tenant's records by their ids. */
function buildOwnedSearch (context: TenantContext, { type, ids, isComplete }: RecordQuery): ReadRequest {
  return restrict(
    {
      type,
      parameters: [['_id', ids.join(',')]],
      count: ids.length,
      total: 'none',
      shape: isComplete ? [] : getIdentityElements(type)
    },
    context.tenant
  )
}

async function fetchStored (context: TenantContext, query: RecordQuery): Promise<StoredResource[]> {
  const { type, ids } = query
  const search = buildOwnedSearch(context, query)
  const response = await sendRequest(context, {
    ...search,
    headers: { 'cache-control': toSinglePageCacheControl(ids.length) }
  })
  const { matches, next } = requireBundle(response, 'a look-up of records was not answered')
  const records = matches
    .map(match => verifyAndRememberOwned(context, match, { type }))
    .filter(record => record !== undefined)
  if (next !== undefined && records.length < ids.length) {
    throw unexpectedResponse(response, 'a look-up of records was answered in pieces')
  }
  return records
}
