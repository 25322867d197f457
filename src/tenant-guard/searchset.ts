/** A searchset as a datastore gave it, before any check of what it holds. */
export interface Searchset {
  readonly matches: readonly unknown[]
  readonly total: number | undefined
  /** The link to the next page, as it was given. */
  readonly next: string | undefined
}

/** Reads a Bundle of type searchset; undefined for anything else. Entries that are no matches (notes of the server) are left out. */
export function searchsetOf (value: unknown): Searchset | undefined {
  const { resourceType, type, total, link = [], entry = [] } = (value ?? {}) as Record<string, unknown>
  if (resourceType !== 'Bundle' || type !== 'searchset' || !isList(link) || !isList(entry)) return undefined
  const next = link.find(({ relation }) => relation === 'next')?.url
  return {
    matches: entry.filter(isMatch).map(({ resource }) => resource),
    total: typeof total === 'number' ? total : undefined,
    next: typeof next === 'string' ? next : undefined
  }
}

function isMatch ({ search }: Record<string, unknown>): boolean {
  const mode = (search as { mode?: unknown } | undefined)?.mode
  return mode === undefined || mode === 'match'
}

function isList (value: unknown): value is ReadonlyArray<Record<string, unknown>> {
  return Array.isArray(value) && value.every(item => item !== null && typeof item === 'object')
}
