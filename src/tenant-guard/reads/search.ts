import type { BackendResponse } from '../../backends/backend.js'
import { filtersHash, invalidCursor, type CursorContents } from '../cursor.js'
import { countMatches } from './count-matches.js'
import {
  sendRequest,
  cursorBinding,
  jsonOf,
  verifyAndRememberOwned,
  unexpectedResponse,
  type TenantContext
} from '../tenant-context.js'
import type { Search } from '../interaction.js'
import type { Page } from './page.js'
import { pageLink, searchPaths } from './page-link.js'
import { restrict, strictHandling } from '../restrict.js'
import { searchChecked } from './checked-search.js'
import { rejectedFilter, reportForeign, searchOwn } from './own-matches.js'
import { searchsetOf, type Searchset } from './searchset.js'

const defaultCount = 20

/** One page: the first by a new search, the others by the datastore's own links, which only sealed cursors carry. */
export async function search (context: TenantContext, request: Search): Promise<Page> {
  if (request.cursor !== undefined) return continued(context, request, request.cursor)
  const count = request.count ?? defaultCount
  const { type, parameters, conditions = [] } = request
  if (conditions.length > 0) return await searchChecked(context, request, { parameters, conditions, count })
  return await pageOf(
    context,
    request,
    await searchOwn(context, {
      type,
      parameters,
      run: all => firstPage(context, { type, parameters: all, count }),
      matchesIn: ({ found }) => found.matches,
      isComplete: ({ found }) => found.next === undefined
    })
  )
}

async function firstPage (
  context: TenantContext,
  { type, parameters, count }: Pick<Search, 'type' | 'parameters'> & { readonly count: number }
): Promise<FoundPage> {
  const request = restrict({ type, parameters, count, total: 'accurate' }, context.tenant)
  // Without this, HAPI repeats an earlier result for a minute, without records stored since.
  const response = await sendRequest(context, {
    ...request,
    headers: { 'cache-control': 'no-cache', ...strictHandling }
  })
  if ([400, 405, 422].includes(response.status)) throw rejectedFilter(response)
  return {
    response,
    found: foundIn(response),
    count,
    countAll: () =>
      countMatches(
        context,
        type,
        parameters.filter(([name]) => name !== '_sort')
      )
  }
}

function foundIn (response: BackendResponse): Searchset {
  const found = response.status === 200 ? searchsetOf(jsonOf(response)) : undefined
  if (found === undefined) throw unexpectedResponse(response, 'a search was not answered')
  return found
}

async function continued (context: TenantContext, request: Search, cursor: string): Promise<Page> {
  const opened = context.cursors.open(cursor, cursorBinding(context, request))
  if (contradicts(request, opened)) throw invalidCursor()
  const { checked, count, total } = opened
  if (checked !== undefined) return await searchChecked(context, request, { ...checked, count, total, after: checked })
  const response = await sendRequest(context, { method: 'GET', path: opened.link })
  // The datastore stores a search for a time of its own.
  if (response.status === 404 || response.status === 410) throw invalidCursor()
  const found = foundIn(response)
  reportForeign(context, request.type, found.matches)
  return await pageOf(context, request, { ...opened, response, found })
}

function contradicts ({ parameters, conditions = [], count }: Search, opened: CursorContents): boolean {
  const requested = [...parameters, ...conditions]
  return (
    (requested.length > 0 && filtersHash(requested) !== opened.filters) ||
    (count !== undefined && count !== opened.count)
  )
}

/** A response, and what is known of its search from the page before. */
type FoundPage = Partial<CursorContents> & Pick<CursorContents, 'count'> & {
  readonly response: BackendResponse
  readonly found: Searchset
  /** Of a first page, which need not hold all matches. */
  readonly countAll?: () => Promise<number | undefined>
}

async function pageOf (
  context: TenantContext,
  request: Search,
  { response, found, count, countAll, ...before }: FoundPage
): Promise<Page> {
  const resources = found.matches
    .map(match => verifyAndRememberOwned(context, match, { type: request.type }))
    .filter(record => record !== undefined)
  // A total that counts another tenant's records would reveal them.
  const isOwn = resources.length === found.matches.length
  const counted = isOwn ? found.total : undefined
  const total =
    countAll === undefined
      ? before.total
      : (counted ?? (found.next === undefined ? resources.length : isOwn ? await countAll() : undefined))
  if (found.next === undefined) return { resources, ...(total !== undefined && { total }) }
  const link = pageLink(found.next, context.backend.baseUrl, searchPaths(request.type))
  if (link === undefined) {
    throw unexpectedResponse(response, 'the link to the next page does not begin with the base URL that is configured')
  }
  const filters = before.filters ?? filtersHash(request.parameters)
  return {
    resources,
    ...(total !== undefined && { total }),
    cursor: context.cursors.seal({ link, count, filters, total }, cursorBinding(context, request))
  }
}
