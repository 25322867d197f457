import type { ReadRequest, BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { toFailureCause } from '../tenant-context.js'
import type { SearchParameter } from '../interaction.js'
import { fetchPage } from './own-matches.js'
import { parsePageLink, listSearchPaths } from './pages.js'
import { isId } from '../../fhir/names.js'
import { toSinglePageCacheControl } from '../restrict.js'
import { isResponseTooLarge, type Send } from '../retry.js'

/** The records of a scan: those of one type that a search finds. */
export interface ScanPosition {
  readonly send: Send
  /** Of the datastore; a page link must begin with it. */
  readonly baseUrl: string
  readonly type: string
  /** Records per page, unless a page turns out to be too large. */
  readonly pageSize?: number
  /** Builds the search for one page: these parameters, and other conditions of the scan. */
  readonly buildSearch: (parameters: readonly SearchParameter[], count: number) => ReadRequest
}

/**
 * Where a scan begins, ISO 8601: after the last change of a record that was found, or with the first requested change.
 */
interface ScanStart { readonly after?: string | undefined, readonly from?: string | undefined }

/** The records that a scan finds at a time. */
export interface ScanChunk {
  readonly records: Records
  /** Everything that changed until then was met, this included. Absent within an instant. */
  readonly upTo?: string | undefined
}

type Records = readonly StoredResource[]

/** HAPI refuses to return more at once. */
const usualPageSize = 1_000

/**
 * Every record that exists throughout the scan, at least once, a page at a time, with the positions from which a later
 * scan can continue. Records are ordered by their last change: one that is changed meanwhile moves ahead and is found
 * there, and a deletion moves none. The records of one instant get a search of their own, because a page may end among
 * them.
 */
export async function * scanChunks (position: ScanPosition, start: ScanStart = {}): AsyncGenerator<ScanChunk> {
  let { after } = start
  for (;;) {
    const page = await fetchPageAfter(position, { ...start, after })
    const instant = page.at(-1)?.meta.lastUpdated
    if (instant === undefined) return
    const before = page.filter(({ meta }) => meta.lastUpdated !== instant)
    if (before.length > 0) yield { records: before, upTo: before.at(-1)!.meta.lastUpdated }
    for await (const records of scanInstant(position, instant, page.length)) yield { records }
    yield { records: [], upTo: instant }
    after = instant
  }
}

const allPages = 'no-cache'

async function fetchPageAfter (position: ScanPosition, { after, from }: ScanStart): Promise<Records> {
  const bound = after !== undefined ? `gt${after}` : from !== undefined ? `ge${from}` : undefined
  const since: SearchParameter[] = bound === undefined ? [] : [['_lastUpdated', bound]]
  for (let count = position.pageSize ?? usualPageSize; ; count = Math.ceil(count / 2)) {
    try {
      // A record that changes while the datastore responds is listed by its earlier time, so the page is requested
      // again.
      for (let attempt = 1; ; attempt++) {
        const { records } = await fetchRecords(
          position,
          position.buildSearch([...since, ['_sort', '_lastUpdated']], count),
          toSinglePageCacheControl(count)
        )
        if (isOrdered(records, after)) return records
        if (attempt === maxAttempts) {
          throw new Failure('BACKEND_ERROR', {
            cause: { reason: 'a search is not sorted by _lastUpdated, or not limited by it' }
          })
        }
      }
    } catch (error) {
      if (!isResponseTooLarge(error) || count === 1) throw error
    }
  }
}

/**
 * The records of one instant: a transaction of any size may have stored them.
 * @param max how many records the datastore has just returned in one page: fewer are all there are
 */
async function * scanInstant (position: ScanPosition, instant: string, max: number): AsyncGenerator<Records> {
  const at: SearchParameter[] = [['_lastUpdated', `ge${instant}`], ['_lastUpdated', `le${instant}`]]
  for (let count = position.pageSize ?? usualPageSize; ; count = Math.ceil(count / 2)) {
    try {
      yield * readLinkedPages(position, position.buildSearch(at, count), { count, max })
      return
    } catch (error) {
      if (!isResponseTooLarge(error) || count === 1) throw error
    }
  }
}

async function * readLinkedPages (
  position: ScanPosition,
  search: ReadRequest,
  { count, max }: { readonly count: number; readonly max: number }
): AsyncGenerator<Records> {
  const first = await fetchRecords(position, search, toSinglePageCacheControl(count))
  const isComplete = first.next !== undefined || first.records.length < max
  let page = isComplete ? first : await fetchRecords(position, search, allPages)
  yield page.records
  while (page.next !== undefined) {
    page = await fetchRecords(position, { method: 'GET', path: page.next }, allPages)
    yield page.records
  }
}

interface RecordPage { readonly records: Records, readonly next: string | undefined }

/**
 * The records of one page of a search of a type, with the link to the next one.
 * @param caching the Cache-Control of the request, such as that of {@link toSinglePageCacheControl}
 * @throws {Failure} BAD_REQUEST for criteria that the datastore rejects, BACKEND_ERROR for a page that is not reliable
 */
export async function fetchRecords (
  { send, baseUrl, type }: Pick<ScanPosition, 'send' | 'baseUrl' | 'type'>, request: ReadRequest, caching: string
): Promise<RecordPage> {
  const found = await fetchPage(send, request, { caching, rejected: rejectedScan })
  const unreliable = (reason: string): Failure => new Failure('BACKEND_ERROR', { cause: { status: 200, reason } })
  if (!found.matches.every(match => isRecord(match, type))) {
    throw unreliable('a record has no id or no time of its last change')
  }
  const next = found.next === undefined ? undefined : parsePageLink(found.next, baseUrl, listSearchPaths(type))
  if (found.next !== undefined && next === undefined) {
    throw unreliable('the link to the next page does not begin with the base URL that is configured')
  }
  return { records: found.matches as Records, next }
}

const rejectedScan = (response: BackendResponse): Failure =>
  new Failure('BAD_REQUEST', { message: 'The datastore rejected this search.', cause: toFailureCause(response) })

function isRecord (value: unknown, type: string): boolean {
  const { resourceType, id, meta } = (value ?? {}) as Partial<StoredResource>
  return resourceType === type && isId(id) && !Number.isNaN(Date.parse(String(meta?.lastUpdated)))
}

/**
 * Whether a page is as requested: if a datastore ignored the order or the condition, the scan would miss records or
 * never end.
 */
function isOrdered (records: Records, after: string | undefined): boolean {
  const times = [...after === undefined ? [] : [after], ...records.map(({ meta }) => meta.lastUpdated!)]
  const isSorted = times.every((time, at) => at === 0 || Date.parse(time) >= Date.parse(times[at - 1]!))
  return isSorted && (after === undefined || records.every(({ meta }) => meta.lastUpdated !== after))
}

const maxAttempts = 5
