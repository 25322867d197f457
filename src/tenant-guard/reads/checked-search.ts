import { Failure } from '../../envelope/failures.js'
import { hashFilters, type CursorContents } from '../cursor.js'
import type { Search, SearchParameter } from '../interaction.js'
import { fetchByIds } from './fetch-owned.js'
import { getCursorBinding, verifyAndRememberOwned, type TenantContext } from '../tenant-context.js'
import { reportForeign, scanMatches } from './own-matches.js'
import type { Page } from './pages.js'
import { requireSearchable } from './require-searchable.js'

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
  // One that was deleted meanwhile is left out.
  const records = await fetchByIds(context, { type: request.type, ids: onPage, isComplete: true })
  const resources = onPage.flatMap(id => records.get(id) ?? [])
  const page = { resources, total: total ?? ids.length }
  const last = onPage.at(-1)
  if (last === undefined || start + count >= ids.length) return page
  const checked = { parameters, conditions, last, position: start + count }
  const contents = { link: '', filters: hashFilters([...parameters, ...conditions]), count, total: page.total, checked }
  return { ...page, cursor: context.cursors.seal(contents, getCursorBinding(context, request)) }
}

/** The ids of the tenant's records that meet all conditions, in order. */
async function findMeeting (
  context: TenantContext,
  { type, checks }: Search,
  { parameters, conditions }: Pick<CheckedPage, 'parameters' | 'conditions'>
): Promise<string[]> {
  if (checks === undefined) throw new Error('a search has conditions that nothing checks')
  const ids = new Set<string>()
  const elements = checks.getElements(conditions)
  const tooMany = (): Failure => tooManyRecords(conditions)
  for await (const matches of scanMatches(context, { type, parameters, elements, maxMatches: maxRecords, tooMany })) {
    reportForeign(context, type, matches)
    for (const match of matches) {
      const record = verifyAndRememberOwned(context, match, { type })
      if (record !== undefined && checks.isMet(record, conditions)) ids.add(record.id)
    }
  }
  return [...ids]
}

function tooManyRecords (conditions: readonly SearchParameter[]): Failure {
  const names = [...new Set(conditions.map(([name]) => name))].join(', ')
  return new Failure('BAD_REQUEST', {
    message: `${names}: FHIR servers cannot search by this, and there are more than ${maxRecords} records to look through. Add another filter, such as a patient or a time.`
  })
}
