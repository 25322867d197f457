/** How long what has failed is left alone, in milliseconds. */
interface BackoffBounds {
  readonly firstMs: number
  readonly maxMs: number
}

/** Twice as long after each failure in a row, of which there were so many before this one. */
export function getBackoffMs ({ firstMs, maxMs }: BackoffBounds, failuresBefore: number): number {
  return Math.min(firstMs * 2 ** failuresBefore, maxMs)
}

/** The same, less up to a half of it at random: many processes that lost something at once do not come back in step. */
export function getJitteredBackoffMs (
  bounds: BackoffBounds,
  failuresBefore: number,
  random: () => number = Math.random
): number {
  return getBackoffMs(bounds, failuresBefore) * (1 - random() / 2)
}
