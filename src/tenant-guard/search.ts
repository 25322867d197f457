import type { BackendAnswer } from '../backends/backend.js'
import { Failure } from '../envelope/failures.js'
import { filtersHash, invalidCursor } from './cursor.js'
import type { CursorContents, CursorPlace } from './cursor.js'
import { ask, causeOf, jsonOf, ownRecordIn, report, unexpected } from './door.js'
import type { Door } from './door.js'
import type { Search } from './interaction.js'
import type { Page } from './page.js'
import { pageLink } from './page-link.js'
import { restrict } from './restrict.js'
import { searchsetOf } from './searchset.js'

const defaultCount = 20

/** One page: the first by a new search, the others by the datastore's own links, which only sealed cursors carry. */
export async function search (door: Door, asked: Search): Promise<Page> {
  if (asked.cursor !== undefined) return continued(door, asked, asked.cursor)
  const count = asked.count ?? defaultCount
  const request = restrict({ type: asked.type, parameters: asked.parameters, count }, door.tenant)
  // Else HAPI shows for a minute what it found earlier, without what was stored since.
  const answer = await ask(door, { ...request, headers: { 'cache-control': 'no-cache' } })
  if ([400, 405, 422].includes(answer.status)) throw new Failure('BAD_REQUEST', { message: 'The datastore does not take a filter, or the value of one.', cause: causeOf(answer) })
  return pageOf(door, asked, { answer, count, filters: filtersHash(asked.parameters) })
}

async function continued (door: Door, asked: Search, cursor: string): Promise<Page> {
  const opened = door.cursors.open(cursor, cursorPlace(door, asked))
  if (contradicts(asked, opened)) throw invalidCursor()
  const answer = await ask(door, { method: 'GET', path: opened.link })
  // The datastore keeps a search for a time of its own.
  if (answer.status === 404 || answer.status === 410) throw invalidCursor()
  return pageOf(door, asked, { ...opened, answer })
}

function contradicts ({ parameters, count }: Search, opened: CursorContents): boolean {
  return (parameters.length > 0 && filtersHash(parameters) !== opened.filters) || (count !== undefined && count !== opened.count)
}

type PageAnswer = Omit<CursorContents, 'link'> & { readonly answer: BackendAnswer }

function pageOf (door: Door, asked: Search, { answer, ...search }: PageAnswer): Page {
  const found = answer.status === 200 ? searchsetOf(jsonOf(answer)) : undefined
  if (found === undefined) throw unexpected(answer, 'a search was not answered')
  const resources = found.matches.map(match => ownRecordIn(door, match, { type: asked.type })).filter(record => record !== undefined)
  const foreign = found.matches.length - resources.length
  if (foreign > 0) report(door, { kind: 'foreign-match', interaction: 'search', type: asked.type, records: foreign })
  const total = found.total ?? search.total
  const link = found.next === undefined ? undefined : pageLink(found.next, door.backend.baseUrl, asked.type)
  if (found.next !== undefined && link === undefined) throw unexpected(answer, 'the link to the next page does not begin with the base URL that is configured')
  return {
    resources,
    // A total that counted another tenant's records would tell of them.
    ...foreign === 0 && total !== undefined && { total },
    ...link !== undefined && { cursor: door.cursors.seal({ ...search, link, total }, cursorPlace(door, asked)) }
  }
}

function cursorPlace ({ tenant, mode, backend }: Door, { route, type }: Search): CursorPlace {
  return { tenant: tenant.id, mode, datastore: backend.name, route, type }
}
