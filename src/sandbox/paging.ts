import { invalid } from './outcome.js'

/** A query parameter, decoded; several may have one name. */
export type QueryParameter = readonly [name: string, value: string]

/** Which part of a result was asked for. */
export interface PageRange { readonly offset: number, readonly count: number }

/** The value of `_count` or `_offset`. */
export function natural (text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw invalid('_count and _offset are whole numbers from 0')
  return Number(text)
}

/** Bundle.link: to this page, and to the next one when there is more. */
export function pageLinks (url: string, parameters: readonly QueryParameter[], { offset, count }: PageRange, total: number): unknown[] {
  const self = link('self', url, parameters)
  if (count === 0 || offset + count >= total) return [self]
  const others = parameters.filter(([name]) => name !== '_offset' && name !== '_count')
  return [self, link('next', url, [...others, ['_count', String(count)], ['_offset', String(offset + count)]])]
}

function link (relation: string, url: string, parameters: readonly QueryParameter[]): unknown {
  if (parameters.length === 0) return { relation, url }
  return { relation, url: `${url}?${new URLSearchParams(parameters as [string, string][])}` }
}
