import { ExitWithFindings, Interrupted } from '../context.js'
import { requestTimeoutMs, ApiError } from './gateway.js'
import type { BulkJob } from './jobs.js'
import { progressBar, progressText } from './progress.js'
import type { Session } from './session.js'
import { CliError } from './errors.js'

/** A job that a command has started or continues. */
interface Followed {
  readonly jobId: string
  /** The command that continues the job. */
  readonly again: string
  readonly cancelOnInterrupt: boolean
}

const firstPauseMs = 250
const maxPauseMs = 5_000

/** @throws {CliError} where there is no such job, or it is one of the other command */
export async function requireKind ({ gateway }: Session, jobId: string, kind: BulkJob['type']): Promise<void> {
  const { type } = await gateway.send<BulkJob>(`/bulk/jobs/${jobId}`)
  if (type !== kind) throw new CliError(`This job is an ${type}. Use clinigate bulk ${type} --job.`)
}

/** Requests a job until it has ended, less often the longer it takes, and shows how far it is. */
export async function waitForJob ({ gateway, streams }: Session, jobId: string): Promise<BulkJob> {
  const meter = progressBar(streams.stderr)
  try {
    for (let ms = firstPauseMs; ; ms = Math.min(maxPauseMs, ms * 1.5)) {
      const job = await gateway.send<BulkJob>(`/bulk/jobs/${jobId}`, { timeoutMs: requestTimeoutMs })
      if (job.status !== 'pending' && job.status !== 'processing') return job
      meter.show(progressText(job))
      await gateway.pause(ms)
    }
  } finally {
    meter.end()
  }
}

/** Does the work on a job. If the command ends before the job is done, the person is shown how to continue it. */
export async function following (
  session: Session,
  { jobId, again, cancelOnInterrupt }: Followed,
  work: () => Promise<void>
): Promise<void> {
  const { signal, err } = session
  try {
    await work()
  } catch (error) {
    if (error instanceof ExitWithFindings) throw error
    if (signal.aborted && cancelOnInterrupt) await cancelled(session, jobId)
    else if (signal.aborted) err(`The job keeps running without this command. To resume, run:\n  ${again}\n`)
    else if (!(error instanceof ApiError && error.status === 404)) {
      err(`The progress so far is kept. To resume, run:\n  ${again}\n`)
    }
    throw signal.aborted ? new Interrupted() : error
  }
}

async function cancelled ({ afterwards, err }: Session, jobId: string): Promise<void> {
  try {
    const { status } = await afterwards.send<BulkJob>(`/bulk/jobs/${jobId}`, { method: 'DELETE' })
    err(status === 'cancelled' ? 'The job was cancelled.\n' : `The job had already ended with status ${status}.\n`)
  } catch (error) {
    const reason = error instanceof CliError ? `: ${error.message}` : ''
    err(`The job could not be cancelled${reason}\nTo try again, run:\n  clinigate bulk cancel ${jobId}\n`)
  }
}

/** A word, quoted for a shell if necessary. */
export function shellQuote (word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll('\'', '\'\\\'\'')}'`
}
