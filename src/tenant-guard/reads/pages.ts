import type { BackendResponse } from '../../backends/backend.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { invalidCursor, type CursorContents, type CursorBinding } from '../cursor.js'
import { parseUrlBelowBase } from '../public-urls.js'
import { sendRequest, unexpectedResponse, type TenantContext } from '../tenant-context.js'
import type { SearchParameter } from '../interaction.js'
import { encodeParameters } from '../restrict.js'

/** A page of a search: the tenant's own resources only. */
export interface Page {
  readonly resources: readonly StoredResource[]
  /** All matches of the search, on every page; absent where the datastore cannot count them. */
  readonly total?: number
  /** Sealed; absent on the last page. */
  readonly cursor?: string
}

/** A page of which the datastore's own JSON shows the tenant's matches alone. */
export interface JsonPage extends Omit<Page, 'resources'> {
  /** A Bundle in UTF-8, which names no member twice that says what a record is or whose. */
  readonly json: Buffer
  /** Of each of its records, in order, what identifies it. */
  readonly records: ReadonlyArray<Pick<StoredResource, 'resourceType' | 'id'>>
}

/** A link of a Bundle: http://hl7.org/fhir/R4/bundle.html#links */
export interface BundleLink { readonly relation: 'self' | 'next', readonly url: string }

/** The address of a page, with the request there. */
export function buildLinkUrl (url: string, requested: readonly SearchParameter[]): string {
  const query = encodeParameters(requested)
  return query === '' ? url : `${url}?${query}`
}

/** The page parameters of an interaction that has no query of its own. */
export function toPageParameters ({
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

/** The links of a page: its own address, and where there is another page its address at `url`, with the cursor. */
export function toPageLinks (self: string, url: string, cursor: string | undefined): BundleLink[] {
  const links: BundleLink[] = [{ relation: 'self', url: self }]
  return cursor === undefined ? links : [...links, { relation: 'next', url: `${url}?_cursor=${cursor}` }]
}

/**
 * A datastore's link to the next page, relative to its base URL; undefined if it leads anywhere else. The origin of the
 * request that follows comes from the configuration, never from the link.
 * @param paths where pages may be, below the base URL; the base itself always may
 */
export function parsePageLink (link: string, baseUrl: string, paths: readonly string[]): string | undefined {
  const { path, search = '' } = parseUrlBelowBase(link, baseUrl) ?? {}
  return path === '' || (path !== undefined && paths.includes(path)) ? path + search : undefined
}

/** Where the pages of a search are. */
export const listSearchPaths = (type: string): string[] => [type, `${type}/_search`]

/** The facts with which a page is continued. */
interface Continuation {
  /** The datastore's link to the next page; undefined on the last one. */
  readonly next: string | undefined
  /** Where the datastore's pages may be, below its base URL. */
  readonly paths: readonly string[]
  readonly binding: CursorBinding
  /** Called only if there is a next page. */
  readonly buildContents: () => Omit<CursorContents, 'link'>
}

/**
 * The cursor of the next page, which holds the datastore's link sealed; undefined on the last page.
 * @throws {Failure} BACKEND_ERROR for a link that leads elsewhere, since leaving it out would end the result early
 */
export function sealNextPage (
  context: TenantContext,
  response: BackendResponse,
  { next, paths, binding, buildContents }: Continuation
): string | undefined {
  if (next === undefined) return undefined
  const link = parsePageLink(next, context.backend.baseUrl, paths)
  if (link === undefined) {
    throw unexpectedResponse(response, 'the link to the next page does not begin with the base URL that is configured')
  }
  return context.cursors.seal({ ...buildContents(), link }, binding)
}

/** Which page of an operation or history a client wants. */
interface PageRequest {
  readonly cursor: string
  /** A maximum, so that it may be larger than that of the page. */
  readonly count?: number
}

/**
 * The page that a cursor leads to. @throws {Failure} INVALID_CURSOR, also when the datastore has forgotten the result
 */
export async function openNextPage (
  context: TenantContext,
  { cursor, count = Infinity }: PageRequest,
  binding: CursorBinding
): Promise<{ readonly response: BackendResponse; readonly opened: CursorContents }> {
  const opened = context.cursors.open(cursor, binding)
  if (count < opened.count) throw invalidCursor()
  return { response: await fetchNextPage(context, opened), opened }
}

/** The page to which the contents of a cursor lead. @throws {Failure} as {@link openNextPage} */
export async function fetchNextPage (
  context: TenantContext,
  { link }: Pick<CursorContents, 'link'>
): Promise<BackendResponse> {
  const response = await sendRequest(context, { method: 'GET', path: link })
  // The datastore stores a search for a time of its own.
  if (response.status === 404 || response.status === 410) throw invalidCursor()
  return response
}
