import { isElementArray } from '../../mappings/core/path.js'

/** A searchset from a datastore, before any check of its entries. */
export interface Searchset {
  readonly matches: readonly unknown[]
  /** The records included with the matches. */
  readonly included: readonly unknown[]
  /** Whether the server says that it has more records to include. */
  readonly isCut: boolean
  readonly total: number | undefined
  /** The link to the next page, as received. */
  readonly next: string | undefined
}

/** Reads a Bundle of type searchset; undefined for anything else. Notes of the server are left out. */
export function searchsetOf (value: unknown): Searchset | undefined {
  const { resourceType, type, total, link = [], entry = [] } = (value ?? {}) as Record<string, unknown>
  if (resourceType !== 'Bundle' || type !== 'searchset' || !isElementArray(link) || !isElementArray(entry)) {
    return undefined
  }
  const next = link.find(({ relation }) => relation === 'next')?.url
  const ofMode = (mode: string): unknown[] =>
    entry.filter(item => modeOf(item) === mode).map(({ resource }) => resource)
  return {
    matches: ofMode('match'),
    included: ofMode('include'),
    isCut: isTruncated(link, entry),
    total: typeof total === 'number' ? total : undefined,
    next: typeof next === 'string' ? next : undefined
  }
}

/**
 * Whether a server says that more could have been included. Azure links to the rest, and used to note that it left it
 * out.
 */
export function isTruncated (
  links: ReadonlyArray<Record<string, unknown>>,
  entries: ReadonlyArray<Record<string, unknown>>
): boolean {
  return links.some(({ relation }) => relation === 'related') || entries.some(item => modeOf(item) === 'outcome')
}

function modeOf ({ search }: Record<string, unknown>): unknown {
  return (search as { mode?: unknown } | undefined)?.mode ?? 'match'
}
