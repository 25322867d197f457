import { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { filtersHash, type CursorContents } from '../cursor.js'
import type { Search, SearchParameter } from '../interaction.js'
import { identityElements, restrict } from '../restrict.js'
import { cursorBinding, verifyAndRememberOwned, unexpectedResponse, type TenantContext } from '../tenant-context.js'
import { fetchPage, reportForeign } from './own-matches.js'
import type { Page } from './page.js'
import { pageLink, searchPaths } from './page-link.js'
import { requireSearchable } from './require-searchable.js'

const recordsPerPage = 1_000
/** Records that one request looks through at most. */
const maxRecords = 10_000

/** A page of a search with conditions, and where it goes on. */
interface CheckedPage {
  readonly parameters: readonly SearchParameter[]
  readonly conditions: readonly SearchParameter[]
  readonly count: number
  /** Of the first page, which every other one repeats. */
  readonly total?: number | undefined
  readonly after?: NonNullable<CursorContents['checked']> | undefined
}

/**
 * One page of the records that meet conditions for which R4 has no search parameter. The gateway looks through the
 * elements of all records that meet the others, in the datastore's order, and reads those of the page whole.
 * @throws {Failure} BAD_REQUEST when there are too many to look through
 */
export async function searchChecked (
  context: TenantContext,
  request: Search,
  { parameters, conditions, count, total, after }: CheckedPage
): Promise<Page> {
  requireSearchable(context, request.type, parameters)
  const ids = await findMeeting(context, request, { parameters, conditions })
  const previous = after === undefined ? -1 : ids.indexOf(after.last)
  const start = after === undefined ? 0 : previous < 0 ? after.position : previous + 1
  const onPage = ids.slice(start, start + count)
  const resources = await fetchAll(context, request.type, onPage)
  const page = { resources, total: total ?? ids.length }
  const last = onPage.at(-1)
  if (last === undefined || start + count >= ids.length) return page
  const checked = { parameters, conditions, last, position: start + count }
  const contents = { link: '', filters: filtersHash([...parameters, ...conditions]), count, total: page.total, checked }
  return { ...page, cursor: context.cursors.seal(contents, cursorBinding(context, request)) }
}

/** The ids of the tenant's records that meet all conditions, in order. */
async function findMeeting (
  context: TenantContext,
  { type, checks }: Search,
  { parameters, conditions }: Pick<CheckedPage, 'parameters' | 'conditions'>
): Promise<string[]> {
  if (checks === undefined) throw new Error('a search has conditions that nothing checks')
  const shape = identityElements(type, checks.elementsOf(conditions))
  const ids: string[] = []
  let page = await fetchPage(
    context,
    restrict({ type, parameters, count: recordsPerPage, total: 'none', shape }, context.tenant)
  )
  for (let records = 0; ;) {
    reportForeign(context, type, page.matches)
    for (const match of page.matches) {
      const record = verifyAndRememberOwned(context, match, { type })
      if (record !== undefined && checks.isMet(record, conditions)) ids.push(record.id)
    }
    records += page.matches.length
    if (page.next === undefined) return [...new Set(ids)]
    const link = pageLink(page.next, context.backend.baseUrl, searchPaths(type))
    if (link === undefined || records >= maxRecords) throw tooMany(conditions)
    page = await fetchPage(context, { method: 'GET', path: link })
  }
}

function tooMany (conditions: readonly SearchParameter[]): Failure {
  const names = [...new Set(conditions.map(([name]) => name))].join(', ')
  return new Failure('BAD_REQUEST', {
    message: `${names}: FHIR servers cannot search by this, and there are more than ${maxRecords} records to look through. Add another filter, such as a patient or a time.`
  })
}

/** The records with these ids, in this order; one that was deleted meanwhile is left out. */
async function fetchAll (context: TenantContext, type: string, ids: readonly string[]): Promise<StoredResource[]> {
  if (ids.length === 0) return []
  const parameters: SearchParameter[] = [['_id', ids.join(',')]]
  const { matches, next } = await fetchPage(
    context,
    restrict({ type, parameters, count: ids.length, total: 'none' }, context.tenant)
  )
  const records = new Map(
    matches.flatMap(match => {
      const record = verifyAndRememberOwned(context, match, { type })
      return record === undefined ? [] : [[record.id, record] as const]
    })
  )
  if (next !== undefined && records.size < ids.length) {
    throw unexpectedResponse({ status: 200, headers: {}, body: '' }, 'a search by ids was answered in pieces')
  }
  return ids.flatMap(id => records.get(id) ?? [])
}
