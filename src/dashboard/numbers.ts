const counts = new Intl.NumberFormat('en-US')

/** A number of things as people read it: `12,345`. */
export function countText (count: number): string {
  return counts.format(count)
}

/** A number with its thing: `1 request`, `2 requests`. */
export function countOf (count: number, thing: string): string {
  return `${countText(count)} ${thing}${count === 1 ? '' : 's'}`
}
