import { Failure, fieldIssue, type Issue } from './failures.js'

/** A name and value of a query, decoded once. */
export type QueryPair = readonly [name: string, value: string]

/** The default for the longest value, in characters. */
export const maxValueLength = 2000
/** The longest list of ids: 100 of 64 characters, as many as a page may have records. */
export const maxIds = 100 * 65
const maxPairs = 1_000
const maxName = 2000

/**
 * The names and values of a query string or form, in order, decoded once.
 * @param search the text after the question mark, undecoded
 * @param max the longest value in characters, of each name or of all
 * @throws {Failure} BAD_REQUEST
 */
export function parseQuery (
  search: string,
  max: number | ((name: string) => number) = maxValueLength
): readonly QueryPair[] {
  if (search === '') return []
  // A form of 16 MiB could have eight million pairs.
  const parts = search.split('&', maxPairs + 1)
  if (parts.length > maxPairs) throw invalidParameter('query', `at most ${maxPairs} parameters`)
  return parts
    .filter(part => part !== '')
    .map(part => {
      const [, before = '', after] = /^([^=]*)(?:=(.*))?$/s.exec(part)!
      const name = decode(before)
      // It is more likely the rest of a value than a name, and values must not be shown. FHIR parameters are sometimes
      // sent without =.
      if (after === undefined && !name.startsWith('_')) {
        throw new Failure('BAD_REQUEST', { message: 'A part of the query has no =. Write an & within a value as %26.' })
      }
      const value = decode(after ?? '')
      if (name.length > maxName) {
        throw invalidParameter('query', `at most ${maxName} characters in the name of a parameter`)
      }
      const maxLength = typeof max === 'number' ? max : max(name)
      if (value.length > maxLength) throw invalidParameter(toSafeName(name), `at most ${maxLength} characters`)
      return [name, value] as const
    })
}

/** The failure of one query parameter. */
export function invalidParameter (name: string, message: string): Failure {
  return new Failure('BAD_REQUEST', { message: `${name}: ${message}`, issues: [fieldIssue(name, message)] })
}

/** The most records on a page. */
const maxCount = 100

/** How many records a page has, and a warning where more were requested. */
export interface PageSize { readonly count: number, readonly warnings?: readonly Issue[] }

/** Reads the parameter `count`. @throws {Failure} BAD_REQUEST */
export function parseCount (text: string): PageSize {
  const count = /^\d+$/.test(text) ? Number(text) : 0
  if (count < 1) throw invalidParameter('count', 'expected a whole number above 0')
  if (count <= maxCount) return { count }
  const message = `a page has at most ${maxCount} records; the cursor leads to the next`
  return { count: maxCount, warnings: [{ ...fieldIssue('count', message), severity: 'warning' }] }
}

/** The remedy for a value that {@link startsWithSpace}. */
export const spaceError = 'begins with a space. In a URL + is a space: write a plus sign as %2B, and leave out a space'

/**
 * Whether a search value begins with a space, most often a plus sign that was not encoded. No stored value begins so,
 * so it would find nothing.
 */
export const startsWithSpace = (value: string): boolean => /^ +[^ ]/.test(value)

/** A name from the client, if it is safe to show. Anything may be sent in place of a name, even a secret. */
export const toSafeName = (name: string): string =>
  /^(?!svc_|cg_)[A-Za-z_][A-Za-z0-9_:.-]{0,63}$/.test(name) ? name : '(unknown)'

/** The text after the question mark of a URL, undecoded. */
export function getRawQuery (url = ''): string {
  const begin = url.indexOf('?')
  return begin < 0 ? '' : url.slice(begin + 1)
}

/** @throws {Failure} BAD_REQUEST when a request that takes no query parameters has some */
export function requireNoQuery ({ raw }: { readonly raw: { readonly url?: string | undefined } }): void {
  if (getRawQuery(raw.url) !== '') throw new Failure('BAD_REQUEST', { message: 'Send no query parameters.' })
}

function decode (text: string): string {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '))
    if (!decoded.includes('\0')) return decoded
  } catch { /* refused below, with what is not text at all */ }
  throw new Failure('BAD_REQUEST', { message: 'The query is not valid percent-encoded UTF-8 text.' })
}
