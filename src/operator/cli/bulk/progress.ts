import { SingleBar } from 'cli-progress'
import type { Writable } from 'node:stream'
import type { BulkJob } from '../../../client/index.js'
import { formatInteger } from '../table.js'

/** How far something is. */
interface Standing {
  readonly done: number
  /** Absent while it is not known. */
  readonly total?: number | undefined
  readonly text: string
}

/** The progress display of a long operation. */
interface Meter {
  readonly show: (standing: Standing) => void
  readonly end: () => void
}

/** Between two lines where no bar can be. */
const lineMs = 5_000

/** A bar on a terminal; elsewhere, as in the log of a scheduled job, a line every few seconds. */
export function progressBar (stream: Writable & { readonly isTTY?: boolean }): Meter {
  return stream.isTTY === true ? bar(stream) : lines(stream)
}

function lines (stream: Writable): Meter {
  let last = performance.now()
  return {
    show: ({ text }) => {
      if (performance.now() - last < lineMs) return
      last = performance.now()
      stream.write(`${text}\n`)
    },
    end: () => {}
  }
}

function bar (stream: Writable): Meter {
  const bar = new SingleBar({
    stream: stream as NodeJS.WritableStream,
    format: '[{bar}] {text}',
    barCompleteChar: '=',
    barIncompleteChar: '-',
    clearOnComplete: true,
    emptyOnZero: true,
    // The two change the terminal for as long as the bar runs, and would not change it back when the command is killed.
    linewrap: true,
    gracefulExit: false
  })
  let isShown = false
  return {
    show: ({ done, total = 0, text }) => {
      if (!isShown) bar.start(total, done, { text })
      isShown = true
      bar.setTotal(total)
      bar.update(Math.min(done, total), { text })
    },
    end: () => {
      if (isShown) bar.stop()
      isShown = false
    }
  }
}

/** The progress of a job as text, by the gateway's report. */
export function progressText ({
  status,
  totalRecords: total,
  processedRecords: done,
  failedRecords,
  recordsPerSecond,
  secondsLeft
}: BulkJob): Standing {
  const parts = [
    `${status}: ${formatInteger(done)}${total === undefined ? '' : ` of ${formatInteger(total)}`} records`,
    recordsPerSecond === undefined ? [] : `${formatInteger(recordsPerSecond)}/s`,
    secondsLeft === undefined ? [] : `${duration(secondsLeft)} left`,
    failedRecords === 0 ? [] : `${formatInteger(failedRecords)} failed`
  ]
  return { done, total, text: parts.flat().join(', ') }
}

/** How far a transfer is, in bytes; its rate is the one since this was made. */
export function withProgress (what: string, total: number | undefined): (bytes: number) => Standing {
  const start = performance.now()
  return done => {
    const rate = done / Math.max(0.001, (performance.now() - start) / 1_000)
    const parts = [
      `${what}: ${mebi(done)}${total === undefined ? '' : ` of ${mebi(total)}`} MiB`,
      `${mebi(rate)} MiB/s`,
      total === undefined || rate === 0 ? [] : `${duration(Math.ceil(Math.max(0, total - done) / rate))} left`
    ]
    return { done, total, text: parts.flat().join(', ') }
  }
}

const mebi = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)

/** Seconds for people: 2 h 5 min */
function duration (seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
