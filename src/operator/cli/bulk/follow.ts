import type { Writable } from 'node:stream'
import type { BulkJob } from '../../../client/index.js'
import { ExitWithFindings, Interrupted } from '../context.js'
import type { Session } from './gateway.js'
import { CliError, explain, isRefusal } from './errors.js'
import { createTerminalBar, type Progress, type ProgressDisplay } from '../progress.js'
import { formatInteger } from '../table.js'

/** The options of all commands that start a job. */
export interface JobOptions {
  /** The job to continue, in place of a new one. */
  readonly job?: string
  readonly force?: true
  readonly cancelOnInterrupt?: true
  readonly url?: string
}

/** A job that a command has started or continues. */
interface ResumableJob {
  readonly jobId: string
  /** The command that continues the job. */
  readonly again: string
  readonly cancelOnInterrupt: boolean
}

/** @throws {CliError} where there is no such job, or it is one of the other command */
export async function requireKind ({ client, signal }: Session, jobId: string, kind: BulkJob['type']): Promise<void> {
  const { type } = await client.bulk.read(jobId, { signal })
  if (type !== kind) throw new CliError(`This job is an ${type}. Use clinigate bulk ${type} --job.`)
}

/** The message for a job that did not complete. */
export const formatJobEnd = ({ status, failure }: Pick<BulkJob, 'status' | 'failure'>): string =>
  `The job ended with status ${status}.${failure === undefined ? '' : ` ${failure.message} (${failure.code})`}\n`

/** Waits until a job has ended, and shows how far it is. */
export async function waitForJob ({ persistentClient, signal, streams }: Session, jobId: string): Promise<BulkJob> {
  const meter = createProgressBar(streams.stderr)
  try {
    return await persistentClient.bulk.wait(jobId, { signal, onProgress: job => meter.show(toProgress(job)) })
  } finally {
    meter.end()
  }
}

/** Does the work on a job. If the command ends before the job is done, the person is shown how to continue it. */
export async function withResumeHint (
  session: Session,
  { jobId, again, cancelOnInterrupt }: ResumableJob,
  work: () => Promise<void>
): Promise<void> {
  const { signal, err } = session
  try {
    await work()
  } catch (error) {
    if (error instanceof ExitWithFindings) throw error
    if (signal.aborted && cancelOnInterrupt) await cancelJob(session, jobId)
    else if (signal.aborted) err(`The job keeps running without this command. To resume, run:\n  ${again}\n`)
    else if (!(isRefusal(error) && error.status === 404)) {
      err(`The progress so far is kept. To resume, run:\n  ${again}\n`)
    }
    throw signal.aborted ? new Interrupted() : error
  }
}

async function cancelJob ({ client, err }: Session, jobId: string): Promise<void> {
  try {
    const { status } = await client.bulk.cancel(jobId)
    err(status === 'cancelled' ? 'The job was cancelled.\n' : `The job had already ended with status ${status}.\n`)
  } catch (error) {
    err(`The job could not be cancelled: ${explain(error)}\nTo try again, run:\n  clinigate bulk cancel ${jobId}\n`)
  }
}

/** A word, quoted for a shell if necessary. */
export function quoteForShell (word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll('\'', '\'\\\'\'')}'`
}

/** Between two lines where no bar can be. */
const lineMs = 5_000

/** A bar on a terminal; elsewhere, as in the log of a scheduled job, a line every few seconds. */
export function createProgressBar (stream: Writable & { readonly isTTY?: boolean }): ProgressDisplay {
  return stream.isTTY === true ? createTerminalBar(stream, '[{bar}] {text}') : createProgressLines(stream)
}

function createProgressLines (stream: Writable): ProgressDisplay {
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

/** The progress of a job as text, by the gateway's report. */
function toProgress ({
  status,
  totalRecords: total,
  processedRecords: done,
  failedRecords,
  recordsPerSecond,
  secondsLeft
}: BulkJob): Progress {
  const parts = [
    `${status}: ${formatInteger(done)}${total === undefined ? '' : ` of ${formatInteger(total)}`} records`,
    recordsPerSecond === undefined ? [] : `${formatInteger(recordsPerSecond)}/s`,
    secondsLeft === undefined ? [] : `${formatDuration(secondsLeft)} left`,
    failedRecords === 0 ? [] : `${formatInteger(failedRecords)} failed`
  ]
  return { done, total, text: parts.flat().join(', ') }
}

/** How far a transfer is, in bytes; its rate is the one since this was made. */
export function createTransferProgress (what: string, total: number | undefined): (bytes: number) => Progress {
  const start = performance.now()
  return done => {
    const rate = done / Math.max(0.001, (performance.now() - start) / 1_000)
    const parts = [
      `${what}: ${formatMebibytes(done)}${total === undefined ? '' : ` of ${formatMebibytes(total)}`} MiB`,
      `${formatMebibytes(rate)} MiB/s`,
      total === undefined || rate === 0 ? [] : `${formatDuration(Math.ceil(Math.max(0, total - done) / rate))} left`
    ]
    return { done, total, text: parts.flat().join(', ') }
  }
}

const formatMebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)

/** Seconds for people: 2 h 5 min */
function formatDuration (seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
