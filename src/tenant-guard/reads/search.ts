import type { BackendAnswer } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import { filtersHash, invalidCursor, type CursorContents } from '../cursor.js'
import { countApart } from './count-apart.js'
import { ask, causeOf, cursorPlace, jsonOf, ownRecordIn, report, unexpected, type Door } from '../door.js'
import type { Search } from '../interaction.js'
import type { Page } from './page.js'
import { pageLink, searchPaths } from './page-link.js'
import { restrict, strictly } from '../restrict.js'
import { searchsetOf } from './searchset.js'

const defaultCount = 20

/** One page: the first by a new search, the others by the datastore's own links, which only sealed cursors carry. */
export async function search (door: Door, asked: Search): Promise<Page> {
  if (asked.cursor !== undefined) return continued(door, asked, asked.cursor)
  const count = asked.count ?? defaultCount
  const request = restrict({ type: asked.type, parameters: asked.parameters, count, total: 'accurate' }, door.tenant)
  // Without this, HAPI repeats an earlier result for a minute, without records stored since.
  const answer = await ask(door, { ...request, headers: { 'cache-control': 'no-cache', ...strictly } })
  if ([400, 405, 422].includes(answer.status)) throw new Failure('BAD_REQUEST', { message: 'The datastore rejected a filter or its value.', cause: causeOf(answer) })
  const countAll = () => countApart(door, asked.type, asked.parameters.filter(([name]) => name !== '_sort'))
  return await pageOf(door, asked, { answer, count, countAll })
}

async function continued (door: Door, asked: Search, cursor: string): Promise<Page> {
  const opened = door.cursors.open(cursor, cursorPlace(door, asked))
  if (contradicts(asked, opened)) throw invalidCursor()
  const answer = await ask(door, { method: 'GET', path: opened.link })
  // The datastore keeps a search for a time of its own.
  if (answer.status === 404 || answer.status === 410) throw invalidCursor()
  return await pageOf(door, asked, { ...opened, answer })
}

function contradicts ({ parameters, count }: Search, opened: CursorContents): boolean {
  return (parameters.length > 0 && filtersHash(parameters) !== opened.filters) || (count !== undefined && count !== opened.count)
}

/** An answer, and what is known of its search from the page before. */
type PageAnswer = Partial<CursorContents> & Pick<CursorContents, 'count'> & {
  readonly answer: BackendAnswer
  /** Of a first page, which need not hold all matches. */
  readonly countAll?: () => Promise<number | undefined>
}

async function pageOf (door: Door, asked: Search, { answer, count, countAll, ...before }: PageAnswer): Promise<Page> {
  const found = answer.status === 200 ? searchsetOf(jsonOf(answer)) : undefined
  if (found === undefined) throw unexpected(answer, 'a search was not answered')
  const resources = found.matches.map(match => ownRecordIn(door, match, { type: asked.type })).filter(record => record !== undefined)
  const foreign = found.matches.length - resources.length
  if (foreign > 0) report(door, { kind: 'foreign-match', interaction: 'search', type: asked.type, records: foreign })
  // A total that counts another tenant's records would tell of them, on the pages after this one as well.
  const hidesTotal = foreign > 0 || before.hidesTotal
  const total = hidesTotal ? undefined : found.total ?? before.total ?? await (found.next === undefined && countAll ? resources.length : countAll?.())
  if (found.next === undefined) return { resources, ...total !== undefined && { total } }
  const link = pageLink(found.next, door.backend.baseUrl, searchPaths(asked.type))
  if (link === undefined) throw unexpected(answer, 'the link to the next page does not begin with the base URL that is configured')
  const filters = before.filters ?? filtersHash(asked.parameters)
  return { resources, ...total !== undefined && { total }, cursor: door.cursors.seal({ link, count, filters, total, hidesTotal }, cursorPlace(door, asked)) }
}
