// Figures of a benchmark, and how they are shown.
import { cpus } from 'node:os'

/** The middle one of some numbers; of an even number of them, the larger of the two in the middle. */
export function median (numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
}

/** The number that so much of all are not above: 0.99 for the 99th percentile. */
export function quantile (numbers, part) {
  return numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) * part)]
}

export const sum = numbers => numbers.reduce((all, number) => all + number, 0)

/** What a benchmark ran on, which its figures are of. */
export const describeMachine = () => `${cpus().length} × ${cpus()[0].model}, Node ${process.version}`

/** A table of Markdown. */
export function formatTable (head, rows) {
  return [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}
