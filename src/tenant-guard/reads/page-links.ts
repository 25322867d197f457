import type { BackendResponse } from '../../backends/backend.js'
import { invalidCursor, type CursorContents, type CursorBinding } from '../cursor.js'
import { sendRequest, unexpectedResponse, type TenantContext } from '../tenant-context.js'
import type { SearchParameter } from '../interaction.js'
import { encodeParameters } from '../restrict.js'
import { pageLink } from './page-link.js'

/** A link of a Bundle: http://hl7.org/fhir/R4/bundle.html#links */
export interface BundleLink { readonly relation: 'self' | 'next', readonly url: string }

/** The address of a page, with the request there. */
export function linkUrl (url: string, requested: readonly SearchParameter[]): string {
  const query = encodeParameters(requested)
  return query === '' ? url : `${url}?${query}`
}

/** The page parameters of an interaction that has no query of its own. */
export function pageParameters ({
  count,
  cursor
}: {
  readonly count?: number
  readonly cursor?: string
}): SearchParameter[] {
  return [
    ...(count === undefined ? [] : [['_count', String(count)] as const]),
    ...(cursor === undefined ? [] : [['_cursor', cursor] as const])
  ]
}

/** What a page is continued with. */
interface Continuation {
  /** The datastore's link to the next page; undefined on the last one. */
  readonly next: string | undefined
  /** Where the datastore's pages may be, below its base URL. */
  readonly paths: readonly string[]
  readonly binding: CursorBinding
  readonly contents: Omit<CursorContents, 'link' | 'filters'>
  /** The address at which a client requests the page, without the cursor. */
  readonly url: string
}

/**
 * The links of a page: its own address, and where there is one the next page's, which holds the datastore's link
 * sealed.
 * @throws {Failure} BACKEND_ERROR for a link that leads elsewhere, since leaving it out would end the result early
 */
export function pageLinks (
  context: TenantContext,
  response: BackendResponse,
  self: string,
  { next, paths, binding, contents, url }: Continuation
): BundleLink[] {
  const links: BundleLink[] = [{ relation: 'self', url: self }]
  if (next === undefined) return links
  const link = pageLink(next, context.backend.baseUrl, paths)
  if (link === undefined) {
    throw unexpectedResponse(response, 'the link to the next page does not begin with the base URL that is configured')
  }
  const cursor = context.cursors.seal({ ...contents, link, filters: '' }, binding)
  return [...links, { relation: 'next', url: `${url}?_cursor=${cursor}` }]
}

/**
 * The page that a cursor leads to. @throws {Failure} INVALID_CURSOR, also when the datastore has forgotten the result
 */
export async function nextPage (
  context: TenantContext,
  cursor: string,
  binding: CursorBinding
): Promise<{ readonly response: BackendResponse; readonly opened: CursorContents }> {
  const opened = context.cursors.open(cursor, binding)
  const response = await sendRequest(context, { method: 'GET', path: opened.link })
  if (response.status === 404 || response.status === 410) throw invalidCursor()
  return { response, opened }
}
