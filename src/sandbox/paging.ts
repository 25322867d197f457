import type { ServerBehaviour } from './server-behaviour.js'
import { invalid } from './outcome.js'

/** A query parameter, decoded; several may have one name. */
export type QueryParameter = readonly [name: string, value: string]

/** The requested range of a result with a total, and the form in which the server links the next one. */
interface PageRange {
  readonly offset: number
  readonly count: number
  readonly total: number
  readonly pages: ServerBehaviour['pages']
}

/** The value of `_count` or `_offset`. */
export function parseNonNegativeInt (text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw invalid('_count and _offset are whole numbers from 0')
  return Number(text)
}

/** Bundle.link: to this page, and to the next one when there is more. */
export function buildPageLinks (
  url: string,
  parameters: readonly QueryParameter[],
  { offset, count, total, pages }: PageRange
): unknown[] {
  const self = toLink('self', url, parameters)
  if (count === 0 || offset + count >= total) return [self]
  const others = parameters.filter(([name]) => name !== pageParameters[pages] && name !== '_count')
  const path = pages === 'offset' ? String(offset + count) : toPageToken(offset + count)
  return [self, toLink('next', url, [...others, ['_count', String(count)], [pageParameters[pages], path]])]
}

/** The parameters that hold the position of a page. */
export const pageParameters = { offset: '_offset', token: 'ct' } as const

/** The place in the result that a request names; its beginning where it names none. */
export function getPageOffset (requested: ReadonlyMap<string, string>, pages: ServerBehaviour['pages']): number {
  const value = requested.get(pageParameters[pages])
  return value === undefined ? 0 : parsePageToken(value, pages)
}

/** A place as {@link buildPageLinks} wrote it. */
export function parsePageToken (value: string, pages: ServerBehaviour['pages']): number {
  if (pages === 'offset') return parseNonNegativeInt(value)
  const path = Buffer.from(value, 'base64url').toString()
  if (!path.startsWith(tokenStart)) throw invalid('the continuation token is not one of this server')
  return parseNonNegativeInt(path.slice(tokenStart.length))
}

const tokenStart = 'after '

function toPageToken (offset: number): string {
  return Buffer.from(`${tokenStart}${offset}`).toString('base64url')
}

function toLink (relation: string, url: string, parameters: readonly QueryParameter[]): unknown {
  if (parameters.length === 0) return { relation, url }
  return { relation, url: `${url}?${new URLSearchParams(parameters as [string, string][])}` }
}
