import type { PropsWithChildren } from '@kitajs/html'
import { maxEmailLength } from '../store/members.js'
import { queryParameter, type PageQuery } from './declared-page.js'
import { formatCount } from './format.js'
import { Empty } from './components.js'

/** Rows of one page. */
const pageLength = 50

/** One page of a list, of the rows that contain the search text. */
export interface ListOptions<T> {
  readonly rows: readonly T[]
  /** Empty for all rows. */
  readonly search: string
  /** From 1 on. */
  readonly page: number
  readonly pages: number
  /** Rows on all pages. */
  readonly found: number
  /** Whether there is more than a page without a search. */
  readonly isLong: boolean
}

/**
 * The page of a list that a query requests with `search` and `page`; `texts` are those of a row that may be searched.
 */
export function paginate<T> (
  all: readonly T[],
  texts: (row: T) => readonly string[],
  query: PageQuery
): ListOptions<T> {
  const search = (queryParameter(query.search) ?? '').trim()
  const sought = search.toLowerCase()
  const found = all.filter(row => texts(row).some(text => text.toLowerCase().includes(sought)))
  const pages = Math.max(1, Math.ceil(found.length / pageLength))
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(queryParameter(query.page))) || 1))
  return {
    rows: found.slice((page - 1) * pageLength, page * pageLength),
    search,
    page,
    pages,
    found: found.length,
    isLong: all.length > pageLength
  }
}

/** The rows of a list, active ones first; each group stays in its order. */
export function sortActiveFirst<T> (rows: readonly T[], isActive: (row: T) => boolean): T[] {
  return [...rows.filter(isActive), ...rows.filter(row => !isActive(row))]
}

interface ListingPart {
  readonly listing: ListOptions<unknown>
  /** Of the page that shows the list. */
  readonly path: string
}

/**
 * A list with its search and the links to its other pages; `what` names what the search covers, `empty` is the text of
 * a list without rows.
 */
export function PaginatedList ({
  listing,
  path,
  what,
  empty,
  children
}: PropsWithChildren<ListingPart & { readonly what: string; readonly empty: JSX.Element }>) {
  return (
    <>
      <Search listing={listing} path={path} what={what} />
      {listing.found > 0 ? children : listing.search === '' ? empty : <NothingFound listing={listing} />}
      <Pages listing={listing} path={path} />
    </>
  )
}

/** The field in which to search a long list. */
function Search ({ listing: { search, isLong }, path, what }: ListingPart & { readonly what: string }) {
  if (!isLong && search === '') return ''
  return (
    <form class='search' role='search' action={path}>
      <label for='search' safe>{what}</label>
      <input id='search' name='search' type='search' value={search} maxlength={maxEmailLength} autocomplete='off' />
      <button type='submit' class='button'>Search</button>
      {search === '' ? '' : <a class='button' href={path}>Show all</a>}
    </form>
  )
}

/** The text for a search without results. */
function NothingFound ({ listing: { search } }: Pick<ListingPart, 'listing'>) {
  return <Empty title={`Nothing matches “${search}”`}><p>Search for a part of it, or show all.</p></Empty>
}

/** Where in a long list the reader is, and the ways on and back. */
function Pages ({ listing: { search, page, pages, found }, path }: ListingPart) {
  if (pages === 1) return ''
  const buildPageUrl = (requested: number): string =>
    `${path}?${new URLSearchParams({ ...(search === '' ? {} : { search }), page: String(requested) })}`
  const first = (page - 1) * pageLength + 1
  return (
    <nav class='pages' aria-label='Pages'>
      {page === 1
        ? ''
        : <a class='button' rel='prev' href={buildPageUrl(page - 1)}>Previous</a>}
      <span
        safe
      >{`${formatCount(first)}–${formatCount(Math.min(found, first + pageLength - 1))} of ${formatCount(found)}`}
      </span>
      {page === pages
        ? ''
        : <a class='button' rel='next' href={buildPageUrl(page + 1)}>Next</a>}
    </nav>
  )
}
