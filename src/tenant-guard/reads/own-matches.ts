import type { BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import {
  sendRequest,
  failureCause,
  jsonOf,
  verifyAndRememberOwned,
  reportIncident,
  unexpectedResponse,
  type TenantContext
} from '../tenant-context.js'
import type { SearchParameter } from '../interaction.js'
import { identityElements, restrict, strictHandling } from '../restrict.js'
import { pageLink, searchPaths } from './page-link.js'
import { requireSearchable } from './require-searchable.js'
import { searchsetOf, type Searchset } from './searchset.js'

/** Pages that are read at most to find the tenant's records among those of others. */
const maxPages = 50
const matchesPerPage = 1_000
/** An id that no record has. */
const noRecord = 'clinigate-none'

/** The failure for a filter that the datastore refuses. */
export const rejectedFilter = (response: BackendResponse): Failure =>
  new Failure('BAD_REQUEST', {
    message: 'The datastore rejected a filter or its value.',
    cause: failureCause(response)
  })

/** A search and how it is sent. */
interface OwnSearch<T> {
  readonly type: string
  readonly parameters: readonly SearchParameter[]
  readonly run: (parameters: readonly SearchParameter[]) => Promise<T>
  readonly matchesIn: (result: T) => readonly unknown[]
  /**
   * Whether the result has all matches and nothing that depends on those of others, so that it is enough to leave them
   * out.
   */
  readonly isComplete: (result: T) => boolean
}

/**
 * The result of a search among the tenant's own records. If a datastore returns records of others all the same, the
 * tenant's records are fetched again by their ids, so that entries, pages and total are those of a datastore without
 * the others. Of a whole result the caller leaves them out.
 */
export async function searchOwn<T> (
  context: TenantContext,
  { type, parameters, run, matchesIn, isComplete }: OwnSearch<T>
): Promise<T> {
  requireSearchable(context, type, parameters)
  const result = await run(parameters)
  if (reportForeign(context, type, matchesIn(result)) === 0 || isComplete(result)) return result
  const ids = await findOwnIds(
    context,
    type,
    parameters.filter(([name]) => name !== '_sort')
  )
  return await run([...parameters, ['_id', ids.length === 0 ? noRecord : ids.join(',')]])
}

/** The number of matches that are not the tenant's; if there are any, they are reported. */
export function reportForeign (context: TenantContext, type: string, matches: readonly unknown[]): number {
  const records = matches.filter(match => verifyAndRememberOwned(context, match, { type }) === undefined).length
  if (records > 0) reportIncident(context, { kind: 'foreign-match', interaction: 'search', type, records })
  return records
}

/**
 * @throws {Failure} BACKEND_ERROR when the datastore returns so many records of others that the tenant's cannot be
 * found
 */
async function findOwnIds (
  context: TenantContext,
  type: string,
  parameters: readonly SearchParameter[]
): Promise<string[]> {
  const ids = new Set<string>()
  let page = await fetchPage(
    context,
    restrict({ type, parameters, count: matchesPerPage, total: 'none', shape: identityElements(type) }, context.tenant)
  )
  for (let pages = 1; ; pages++) {
    for (const match of page.matches) {
      const id = verifyAndRememberOwned(context, match, { type })?.id
      if (id !== undefined) ids.add(id)
    }
    if (page.next === undefined) return [...ids]
    const link = pageLink(page.next, context.backend.baseUrl, searchPaths(type))
    if (link === undefined || pages === maxPages) {
      throw new Failure('BACKEND_ERROR', {
        cause: { reason: 'a search by tag returns records of other tenants; run clinigate doctor' }
      })
    }
    page = await fetchPage(context, { method: 'GET', path: link })
  }
}

/** One page of a search whose result the caller checks. */
export async function fetchPage (context: TenantContext, request: ReturnType<typeof restrict>): Promise<Searchset> {
  const response = await sendRequest(context, {
    ...request,
    headers: { 'cache-control': 'no-cache', ...strictHandling }
  })
  if (response.status === 400 || response.status === 422) throw rejectedFilter(response)
  const found = response.status === 200 ? searchsetOf(jsonOf(response)) : undefined
  if (found === undefined) throw unexpectedResponse(response, 'a search was not answered')
  return found
}
