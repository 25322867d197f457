import { distance } from 'fastest-levenshtein'

/** The known name that a misspelt one most likely meant; undefined when none is near, or none within `mostEdits` changes of a character. What a message shows is a name of ours, never the client's. */
export function nearest (name: string, known: readonly string[], mostEdits = Infinity): string | undefined {
  // The cost is the product of both lengths, and a client chooses one of them.
  const wanted = name.slice(0, 64).toLowerCase()
  const furthest = Math.min(mostEdits, Math.max(2, Math.floor(wanted.length / 3)))
  const ranked = known
    .map(candidate => ({ candidate, edits: distance(wanted, candidate.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits)
  return ranked[0] && ranked[0].edits <= furthest ? ranked[0].candidate : undefined
}

/** What a message about an unknown name ends with: the {@link nearest} known one, or else `otherwise`. */
export function suggestion (name: string, known: readonly string[], otherwise = ''): string {
  const meant = nearest(name, known)
  return meant === undefined ? otherwise : `; the nearest is ${meant}`
}
