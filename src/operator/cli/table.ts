/** Rows as columns for people: the first one to the left, the others, which are numbers, to the right. */
export function formatTable (head: readonly string[], rows: ReadonlyArray<readonly [string, ...number[]]>): string {
  const texts = [head, ...rows.map(([name, ...numbers]) => [name, ...numbers.map(formatInteger)])]
  const widths = head.map((_, at) => Math.max(...texts.map(row => row[at]!.length)))
  return (
    texts
      .map(row => row.map((text, at) => (at === 0 ? text.padEnd(widths[at]!) : text.padStart(widths[at]!))).join('  '))
      .join('\n') + '\n'
  )
}

/** A number for people: 12,345 */
export function formatInteger (number: number): string {
  return number.toLocaleString('en')
}
