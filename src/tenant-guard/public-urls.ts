import type { BackendResponse } from '../backends/backend.js'
import { parseStored, printJson } from '../json/json.js'
import { hasDuplicateMember } from '../json/scan.js'
import type { TenantContext } from './tenant-context.js'

/**
 * JSON text of a datastore with the gateway's URLs in place of the datastore's own. A text that escapes its slashes
 * must be printed again before.
 */
export function rewriteUrls ({ backend, fhirBase }: Pick<TenantContext, 'backend' | 'fhirBase'>, text: string): string {
  return text.includes(backend.baseUrl) ? text.replaceAll(`${backend.baseUrl}/`, `${fhirBase}/`) : text
}

/** The JSON of a response with the gateway's URLs. */
export function rewriteUrlsInText (
  context: Pick<TenantContext, 'backend' | 'fhirBase'>,
  { body }: Pick<BackendResponse, 'body'>
): string {
  return rewriteUrls(context, toUnambiguousJson(body))
}

/** How deep brackets are nested in a record where its tags are. */
const tagDepth = 4

/**
 * The JSON text of one record, or another that says what was checked: a text that escapes its slashes hides URLs from
 * the replacement, and one that names a member twice may be another record to its reader.
 */
export function toUnambiguousJson (text: string): string {
  return text.includes('\\/') || hasDuplicateMember(text, tagDepth) ? printJson(parseStored(text)) : text
}

/** A URL from the datastore, relative to its base URL; undefined for the base itself and if it leads anywhere else. */
export function toRelativeUrl (url: string, { backend: { baseUrl } }: TenantContext): string | undefined {
  const { path = '', search = '' } = parseUrlBelowBase(url, baseUrl) ?? {}
  return path === '' ? undefined : path + search
}

/** The path of a URL below a base URL, empty for the base itself, and its query; undefined for any other URL. */
export function parseUrlBelowBase (
  url: string,
  baseUrl: string
): { readonly path: string; readonly search: string } | undefined {
  const base = `${baseUrl}/`
  if (!URL.canParse(url, base)) return undefined
  const { origin, username, password, pathname, search } = new URL(url, base)
  const { origin: baseOrigin, pathname: basePath } = new URL(base)
  const isBelow =
    origin === baseOrigin && username === '' && password === '' && `${pathname}/`.startsWith(basePath)
  return isBelow ? { path: pathname.slice(basePath.length), search } : undefined
}
