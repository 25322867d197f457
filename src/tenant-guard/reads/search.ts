import type { BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import { filtersHash, invalidCursor, type CursorContents } from '../cursor.js'
import { countMatches } from './count-matches.js'
import { sendRequest, failureCause, cursorBinding, jsonOf, verifyAndRememberOwned, unexpectedResponse, type TenantContext } from '../tenant-context.js'
import type { Search } from '../interaction.js'
import type { Page } from './page.js'
import { pageLink, searchPaths } from './page-link.js'
import { restrict, strictHandling } from '../restrict.js'
import { reportForeign, searchOwn } from './own-matches.js'
import { searchsetOf, type Searchset } from './searchset.js'

const defaultCount = 20

/** One page: the first by a new search, the others by the datastore's own links, which only sealed cursors carry. */
export async function search (door: TenantContext, asked: Search): Promise<Page> {
  if (asked.cursor !== undefined) return continued(door, asked, asked.cursor)
  const count = asked.count ?? defaultCount
  const { type, parameters } = asked
  return await pageOf(door, asked, await searchOwn(door, { type, parameters, run: all => firstPage(door, { type, parameters: all, count }), matchesIn: ({ found }) => found.matches, isWhole: ({ found }) => found.next === undefined }))
}

async function firstPage (door: TenantContext, { type, parameters, count }: Pick<Search, 'type' | 'parameters'> & { readonly count: number }): Promise<FoundPage> {
  const request = restrict({ type, parameters, count, total: 'accurate' }, door.tenant)
  // Without this, HAPI repeats an earlier result for a minute, without records stored since.
  const answer = await sendRequest(door, { ...request, headers: { 'cache-control': 'no-cache', ...strictHandling } })
  if ([400, 405, 422].includes(answer.status)) throw new Failure('BAD_REQUEST', { message: 'The datastore rejected a filter or its value.', cause: failureCause(answer) })
  return { answer, found: foundIn(answer), count, countAll: () => countMatches(door, type, parameters.filter(([name]) => name !== '_sort')) }
}

function foundIn (answer: BackendResponse): Searchset {
  const found = answer.status === 200 ? searchsetOf(jsonOf(answer)) : undefined
  if (found === undefined) throw unexpectedResponse(answer, 'a search was not answered')
  return found
}

async function continued (door: TenantContext, asked: Search, cursor: string): Promise<Page> {
  const opened = door.cursors.open(cursor, cursorBinding(door, asked))
  if (contradicts(asked, opened)) throw invalidCursor()
  const answer = await sendRequest(door, { method: 'GET', path: opened.link })
  // The datastore keeps a search for a time of its own.
  if (answer.status === 404 || answer.status === 410) throw invalidCursor()
  const found = foundIn(answer)
  reportForeign(door, asked.type, found.matches)
  return await pageOf(door, asked, { ...opened, answer, found })
}

function contradicts ({ parameters, count }: Search, opened: CursorContents): boolean {
  return (parameters.length > 0 && filtersHash(parameters) !== opened.filters) || (count !== undefined && count !== opened.count)
}

/** An answer, and what is known of its search from the page before. */
type FoundPage = Partial<CursorContents> & Pick<CursorContents, 'count'> & {
  readonly answer: BackendResponse
  readonly found: Searchset
  /** Of a first page, which need not hold all matches. */
  readonly countAll?: () => Promise<number | undefined>
}

async function pageOf (door: TenantContext, asked: Search, { answer, found, count, countAll, ...before }: FoundPage): Promise<Page> {
  const resources = found.matches.map(match => verifyAndRememberOwned(door, match, { type: asked.type })).filter(record => record !== undefined)
  // A total that counts another tenant's records would reveal them.
  const isOwn = resources.length === found.matches.length
  const counted = isOwn ? found.total : undefined
  const total = countAll === undefined ? before.total : counted ?? (found.next === undefined ? resources.length : isOwn ? await countAll() : undefined)
  if (found.next === undefined) return { resources, ...total !== undefined && { total } }
  const link = pageLink(found.next, door.backend.baseUrl, searchPaths(asked.type))
  if (link === undefined) throw unexpectedResponse(answer, 'the link to the next page does not begin with the base URL that is configured')
  const filters = before.filters ?? filtersHash(asked.parameters)
  return { resources, ...total !== undefined && { total }, cursor: door.cursors.seal({ link, count, filters, total }, cursorBinding(door, asked)) }
}
