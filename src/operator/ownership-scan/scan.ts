import { Failure } from '../../envelope/failures.js'
import type { StoredResource, FhirResource } from '../../mappings/fhir.js'
import type { SearchParameter } from '../../tenant-guard/interaction.js'
import { fetchRecords, scanChunks, type ScanPosition } from '../../tenant-guard/reads/scan.js'
import { encodeParameters, toSinglePageCacheControl } from '../../tenant-guard/restrict.js'
import { isTenantSystem } from '../../tenant-guard/tenant.js'
import { parseJson } from '../../tenant-guard/tenant-context.js'
import { parseBundle, requireBundle } from '../../tenant-guard/reads/backend-bundle.js'
import type { Send } from '../../tenant-guard/retry.js'

/** The scope of an operator's scan: the records of one type, of all tenants. */
interface OperatorScope extends Omit<ScanPosition, 'buildSearch'> {
  /** Conditions beyond the type. */
  readonly criteria?: readonly SearchParameter[]
}

/**
 * Every record of a type that is there all the while, at least once, a page at a time; for operators only, as no tag
 * restricts it. Call {@link requireOrder} first.
 */
export async function * scanAll ({ criteria = [], ...path }: OperatorScope): AsyncGenerator<readonly StoredResource[]> {
  const buildSearch: ScanPosition['buildSearch'] = (parameters, count) => ({
    method: 'GET',
    path: `${path.type}?${encodeParameters([...criteria, ...parameters, ['_count', String(count)], ['_total', 'none']])}`
  })
  for await (const { records } of scanChunks({ ...path, buildSearch })) yield records
}

type Direction = '' | '-'

/**
 * Requires that no record precedes the first one in either direction. A page whose records changed in the same instant
 * looks sorted on every server, so the pages alone are no proof.
 * @throws {Failure} BACKEND_ERROR if the datastore ignores the order or the limits of a search: records would be missed
 */
export async function requireOrder (path: Omit<OperatorScope, 'pageSize'>): Promise<void> {
  await requireEnd(path, '')
  await requireEnd(path, '-')
}

/**
 * A record that is changed meanwhile becomes the newest, so the newest one is looked for again; many times, since on a
 * server that imports something records change between most searches.
 */
const maxAttempts = 20

async function requireEnd (path: Omit<OperatorScope, 'pageSize'>, direction: Direction): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const end = await fetchFirstLastUpdated(path, ['_sort', `${direction}_lastUpdated`])
    if (end === undefined) return
    const beyond = await fetchFirstLastUpdated(path, ['_lastUpdated', `${direction === '' ? 'lt' : 'gt'}${end}`])
    if (beyond === undefined) return
    const difference = (Date.parse(beyond) - Date.parse(end)) * (direction === '' ? -1 : 1)
    // A datastore may store times finer than it shows them.
    if (difference === 0 && direction === '-') return
    if (difference > 0 && direction === '-' && attempt < maxAttempts) continue
    const parameter = difference > 0 ? '_sort' : '_lastUpdated'
    throw new Failure('BACKEND_ERROR', {
      message: `The datastore ignores ${parameter} in a search of ${path.type}, so records would be missed. Run clinigate doctor.`,
      cause: { reason: `a search ignores ${parameter}` }
    })
  }
}

/** The time of the last change of the first record that a search finds. */
async function fetchFirstLastUpdated (
  path: Omit<OperatorScope, 'pageSize'>,
  parameter: SearchParameter
): Promise<string | undefined> {
  const { criteria = [] } = path
  const query = encodeParameters([...criteria, parameter, ['_count', '1'], ['_total', 'none']])
  const { records } = await fetchRecords(
    path,
    { method: 'GET', path: `${path.type}?${query}` },
    toSinglePageCacheControl(1)
  )
  return records[0]?.meta.lastUpdated
}

/**
 * The owner of a stored record by its tags: one tenant, none, or ambiguous: several tags of the tenant system, or one
 * in another form than the gateway writes. The gateway only ever shows records of `one`.
 */
type Owner =
  { readonly kind: 'one'; readonly tenantId: string } | { readonly kind: 'none' | 'several' | 'unclear' }

/** Reads the owner of a record from `meta.tag`; the tags of idempotency have another system and are ignored. */
export function parseOwner ({ meta }: FhirResource, system: string): Owner {
  const tags: unknown = meta?.tag ?? []
  if (!Array.isArray(tags)) return { kind: 'unclear' }
  const named = tags.filter(tag => isTenantSystem(tag?.system, { id: '', system }))
  if (named.length !== 1) return { kind: named.length === 0 ? 'none' : 'several' }
  const [{ system: written, code }] = named
  return written === system && typeof code === 'string' && code !== ''
    ? { kind: 'one', tenantId: code }
    : { kind: 'unclear' }
}

const exportExtensionPrefix = 'https://hapifhir.org/NamingSystem/bulk-export-'

/**
 * Whether this is not a record but a file of a bulk export that HAPI stores, with any exported data: possibly records
 * of many tenants.
 */
export function isExportFile ({ resourceType, meta }: FhirResource): boolean {
  const extensions: unknown = meta?.extension
  return (
    resourceType === 'Binary' &&
    Array.isArray(extensions) &&
    extensions.some(extension => String(extension?.url).startsWith(exportExtensionPrefix))
  )
}

/** How many records of a type meet the criteria; undefined when the datastore does not count them. */
export async function fetchCount (
  send: Send,
  type: string,
  criteria: readonly SearchParameter[] = []
): Promise<number | undefined> {
  const response = await send({
    method: 'GET',
    path: `${type}?${encodeParameters([...criteria, ['_summary', 'count']])}`,
    headers: { 'cache-control': 'no-cache' }
  })
  return response.status === 200 ? parseBundle(parseJson(response))?.total : undefined
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
  for (const [type, all] of groupByType(references)) {
    for (let at = 0; at < all.length; at += idsOfOneSearch) {
      const ids = all.slice(at, at + idsOfOneSearch)
      for (const record of await searchByIds(send, { type, ids, part })) found.set(`${type}/${record.id}`, record)
    }
  }
  return found
}

function groupByType (references: Iterable<string>): Map<string, string[]> {
  const ids = new Map<string, string[]>()
  for (const reference of new Set(references)) {
    const [type, id] = reference.split('/') as [string, string]
    ids.set(type, [...ids.get(type) ?? [], id])
  }
  return ids
}

interface RecordLookup {
  readonly type: string
  readonly ids: readonly string[]
  readonly part: Part
  readonly criteria?: readonly SearchParameter[]
}

/** One record in its current state; undefined when it is gone or does not meet the criteria. */
export async function fetchCurrentRecord (
  send: Send,
  { type, id, criteria }: { readonly type: string; readonly id: string; readonly criteria: readonly SearchParameter[] }
): Promise<StoredResource | undefined> {
  return (await searchByIds(send, { type, ids: [id], part: 'whole', criteria }))[0]
}

async function searchByIds (send: Send, { type, ids, part, criteria = [] }: RecordLookup): Promise<StoredResource[]> {
  const elements: SearchParameter[] = part === 'meta' ? [['_elements', 'id,meta']] : []
  const path = `${type}?${encodeParameters([...criteria, ['_id', ids.join(',')], ...elements, ['_count', String(ids.length)], ['_total', 'none']])}`
  const response = await send({ method: 'GET', path, headers: { 'cache-control': 'no-cache, no-store' } })
  if (response.status === 404) return []
  const { matches } = requireBundle(response, 'a look-up of records was not answered')
  return (matches as StoredResource[]).filter(record => record.resourceType === type && ids.includes(record.id))
}
