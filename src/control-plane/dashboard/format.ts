const counts = new Intl.NumberFormat('en-US')

/** A number of things as people read it: `12,345`. */
export function countText (count: number): string {
  return counts.format(count)
}

/** How long something took: `123 ms`, and in larger words when it took long. */
export function durationText (ms: number): string {
  if (ms < 10_000) return `${countText(ms)} ms`
  if (ms < 600_000) return countOf(Math.round(ms / 1_000), 'second')
  return ms < 36_000_000 ? countOf(Math.round(ms / 60_000), 'minute') : countOf(Math.round(ms / 3_600_000), 'hour')
}

/** A number with its thing: `1 request`, `2 requests`. */
export function countOf (count: number, thing: string): string {
  return `${countText(count)} ${thing}${count === 1 ? '' : 's'}`
}
