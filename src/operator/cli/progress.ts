import type { Writable } from 'node:stream'
import { SingleBar } from 'cli-progress'
import type { ScanProgress } from '../ownership-scan/audit.js'
import type { Streams } from './context.js'

/** How far something is. */
export interface Progress {
  readonly done: number
  /** Absent while it is not known. */
  readonly total?: number | undefined
  readonly text: string
}

/** The progress display of a long operation. */
export interface ProgressDisplay<T = Progress> {
  readonly show: (progress: T) => void
  readonly end: () => void
}

/** A bar on a terminal. @param format as cli-progress has it, with `{text}` for the text */
export function createTerminalBar (stream: Writable, format: string): ProgressDisplay {
  const bar = new SingleBar({
    stream: stream as NodeJS.WritableStream,
    format,
    barCompleteChar: '=',
    barIncompleteChar: '-',
    clearOnComplete: true,
    emptyOnZero: true,
    // The two change the terminal for as long as the bar runs, and would not change it back when the command is killed.
    linewrap: true,
    gracefulExit: false
  })
  let isStarted = false
  return {
    show: ({ done, total = 0, text }) => {
      if (!isStarted) bar.start(total, done, { text })
      isStarted = true
      bar.setTotal(total)
      bar.update(Math.min(done, total), { text })
    },
    end: () => {
      if (isStarted) bar.stop()
      isStarted = false
    }
  }
}

/** A bar that grows with the records that a scan read; shows nothing where standard error is not a terminal. */
export function createScanProgress ({ stderr }: Pick<Streams, 'stderr'>): ProgressDisplay<ScanProgress> {
  if (stderr.isTTY !== true) return { show: () => {}, end: () => {} }
  const { show, end } = createTerminalBar(stderr, '[{bar}] {percentage}% | {value} of {total} records | {text}')
  // The count from before the scan is exceeded when records are seen twice or added meanwhile.
  return { show: ({ seen, total, type }) => show({ done: seen, total: Math.max(total, seen), text: type }), end }
}
