// Figures of a benchmark, and their format.
import { cpus } from 'node:os'

/** The median; of an even number of values, the larger of the two in the middle. */
export function median (numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
}

/** A quantile of the values: 0.99 for the 99th percentile. */
export function quantile (numbers, part) {
  return numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) * part)]
}

export const sum = numbers => numbers.reduce((all, number) => all + number, 0)

/** The machine and versions of a benchmark run. */
export const describeMachine = () => `${cpus().length} × ${cpus()[0].model}, Node ${process.version}`

/** A table of Markdown. */
export function formatTable (head, rows) {
  return [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}
