/** A list in parts of at most `max` items, in its order; no parts if it is empty. */
export function splitIntoChunks<T> (items: readonly T[], max: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / max) }, (_, at) => items.slice(at * max, (at + 1) * max))
}
