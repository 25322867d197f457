import { distance } from 'fastest-levenshtein'

/**
 * The known name that is most similar to a misspelt one; undefined if none is similar, or none is within `maxEdits`
 * single-character edits.
 */
export function findNearest (name: string, known: readonly string[], maxEdits = Infinity): string | undefined {
  // The cost is the product of both lengths, and a client chooses one of them.
  const requested = name.slice(0, 64).toLowerCase()
  const furthest = Math.min(maxEdits, Math.max(2, Math.floor(requested.length / 3)))
  const ranked = known
    .map(candidate => ({ candidate, edits: distance(requested, candidate.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits)
  return ranked[0] && ranked[0].edits <= furthest ? ranked[0].candidate : undefined
}

/**
 * The end of a message about an unknown name: suggests the known name that {@link findNearest} returns, or else is
 * `otherwise`. It never contains the unknown name, which may be a value or a secret.
 */
export function formatSuggestion (name: string, known: readonly string[], otherwise = ''): string {
  return formatDidYouMean(findNearest(name, known), otherwise)
}

/** The same end of a message for a known name that the caller has found; `otherwise` if it is undefined. */
export function formatDidYouMean (meant: string | undefined, otherwise = ''): string {
  return meant === undefined ? otherwise : `; did you mean ${meant}?`
}
