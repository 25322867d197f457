import { SingleBar } from 'cli-progress'
import { clearLine, cursorTo } from 'node:readline'
import type { Writable } from 'node:stream'
import type { Totals } from './report.js'

/** The progress display of a long run. */
export interface Progress {
  readonly show: (bytes: number, tally: Totals) => void
  /** Clears the bar for a line of the report, where both are on one terminal. */
  readonly stepAside: () => void
  readonly end: () => void
}

/** Fewer bytes are read before anyone could wonder. */
const worthShowing = 8 * 1024 * 1024

const silent: Progress = { show: () => {}, stepAside: () => {}, end: () => {} }

/**
 * A bar for the read part of a file; shows nothing for a small one, and where the stream is not a terminal.
 * @param size in bytes; undefined if it is unknown, as of a pipe
 */
export function progressOn (terminal: Writable & { readonly isTTY?: boolean }, size: number | undefined): Progress {
  if (terminal.isTTY !== true || size === undefined || size < worthShowing) return silent
  const bar = new SingleBar({
    stream: terminal,
    format: '[{bar}] {percentage}% | {value} of {total} MiB | {values} records | {faulty} faulty',
    formatValue: (value, _, type) =>
      type === 'value' || type === 'total' ? (value / 2 ** 20).toFixed(1) : String(value),
    barCompleteChar: '=',
    barIncompleteChar: '-',
    clearOnComplete: true,
    forceRedraw: true,
    // The two change the terminal for as long as the bar runs, and would not change it back when the command is killed.
    linewrap: true,
    gracefulExit: false
  } as ConstructorParameters<typeof SingleBar>[0])
  bar.start(size, 0, { values: 0, faulty: 0 })
  return {
    show: (bytes, tally) => bar.update(bytes, tally),
    stepAside: () => { clearLine(terminal, 0, () => {}); cursorTo(terminal, 0) },
    end: () => bar.stop()
  }
}
