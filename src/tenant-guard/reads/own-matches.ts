import type { ReadRequest, BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import {
  sendRequest,
  toFailureCause,
  verifyAndRememberOwned,
  reportIncident,
  type TenantContext
} from '../tenant-context.js'
import type { SearchParameter } from '../interaction.js'
import { getIdentityElements, restrict, strictHandling } from '../restrict.js'
import type { Send } from '../retry.js'
import { parsePageLink, listSearchPaths } from './pages.js'
import { requireSearchable } from './require-searchable.js'
import { requireBundle, type BackendBundle } from './backend-bundle.js'

/** Pages that are read at most to find the tenant's records among those of others. */
const maxPages = 50
const matchesPerPage = 1_000
/** An id that no record has. */
const noRecord = 'clinigate-none'

/** The failure for a filter that the datastore refuses. */
export const rejectedFilter = (response: BackendResponse): Failure =>
  new Failure('BAD_REQUEST', {
    message: 'The datastore rejected a filter or its value.',
    cause: toFailureCause(response)
  })

/** A search and how it is sent. */
interface OwnSearch<T> {
  readonly type: string
  readonly parameters: readonly SearchParameter[]
  readonly run: (parameters: readonly SearchParameter[]) => Promise<T>
  /** The number of its matches that are not the tenant's. */
  readonly countForeign: (result: T) => number
  /**
   * Whether the result has all matches and nothing that depends on those of others, so that it is enough to leave them
   * out.
   */
  readonly isComplete: (result: T) => boolean
}

/**
 * The result of a search among the tenant's own records. If a datastore returns records of other tenants, the tenant's
 * records are fetched again by their ids, so that entries, pages and total are those of a datastore without the others.
 * Of a whole result the caller leaves them out.
 */
export async function searchOwn<T> (
  context: TenantContext,
  { type, parameters, run, countForeign, isComplete }: OwnSearch<T>
): Promise<T> {
  requireSearchable(context, type, parameters)
  const result = await run(parameters)
  const records = countForeign(result)
  if (records === 0) return result
  reportForeignMatches(context, type, records)
  if (isComplete(result)) return result
  const ids = await findOwnIds(context, { type, parameters: parameters.filter(([name]) => name !== '_sort') })
  return await run([...parameters, ['_id', ids.length === 0 ? noRecord : ids.join(',')]])
}

/** Reports matches of a search that are not the tenant's, if there are any. */
export function reportForeign (context: TenantContext, type: string, matches: readonly unknown[]): void {
  reportForeignMatches(context, type, countForeignIn(context, type, matches))
}

/** The number of matches that are not the tenant's. */
export function countForeignIn (context: TenantContext, type: string, matches: readonly unknown[]): number {
  return matches.filter(match => verifyAndRememberOwned(context, match, { type }) === undefined).length
}

/** Reports so many matches of a search that are not the tenant's; nothing for none. */
export function reportForeignMatches (context: TenantContext, type: string, records: number): void {
  if (records > 0) reportIncident(context, { kind: 'foreign-match', interaction: 'search', type, records })
}

/**
 * @throws {Failure} BACKEND_ERROR when the datastore returns so many records of others that the tenant's cannot be
 * found
 */
async function findOwnIds (context: TenantContext, search: Pick<OwnScan, 'type' | 'parameters'>): Promise<string[]> {
  const ids = new Set<string>()
  const tooMany = (): Failure =>
    new Failure('BACKEND_ERROR', {
      cause: { reason: 'a search by tag returns records of other tenants; run clinigate doctor' }
    })
  for await (const matches of scanMatches(context, { ...search, maxPages, tooMany })) {
    for (const match of matches) {
      const id = verifyAndRememberOwned(context, match, search)?.id
      if (id !== undefined) ids.add(id)
    }
  }
  return [...ids]
}

/** A search whose pages are read one after the other. */
interface OwnScan {
  readonly type: string
  readonly parameters: readonly SearchParameter[]
  /** Elements that are needed besides the identity of each record. */
  readonly elements?: readonly string[]
  readonly maxPages?: number
  readonly maxMatches?: number
  /** The failure for a result that has more, or whose next page is elsewhere. */
  readonly tooMany: () => Failure
}

/** The matches of a search among the tenant's own records, unchecked, a page at a time. @throws {Failure} `tooMany` */
export async function * scanMatches (
  context: TenantContext,
  { type, parameters, elements, maxPages = Infinity, maxMatches = Infinity, tooMany }: OwnScan
): AsyncGenerator<readonly unknown[]> {
  const shape = getIdentityElements(type, elements)
  let request = restrict({ type, parameters, count: matchesPerPage, total: 'none', shape }, context.tenant)
  let matches = 0
  for (let pages = 1; ; pages++) {
    const page = await fetchPage(each => sendRequest(context, each), request)
    yield page.matches
    if (page.next === undefined) return
    matches += page.matches.length
    const path = parsePageLink(page.next, context.backend.baseUrl, listSearchPaths(type))
    if (path === undefined || pages >= maxPages || matches >= maxMatches) throw tooMany()
    request = { method: 'GET', path }
  }
}

/** How a page is fetched. */
interface PageOptions {
  readonly caching?: string
  /** The failure for a search that the datastore refuses. */
  readonly rejected?: (response: BackendResponse) => Failure
}

/** One page of a search whose result the caller checks. */
export async function fetchPage (
  send: Send,
  request: ReadRequest,
  { caching = 'no-cache', rejected = rejectedFilter }: PageOptions = {}
): Promise<BackendBundle> {
  // A server that ignores an unknown condition would show too much.
  const response = await send({ ...request, headers: { 'cache-control': caching, ...strictHandling } })
  if (response.status === 400 || response.status === 422) throw rejected(response)
  return requireBundle(response, 'a search was not answered')
}
