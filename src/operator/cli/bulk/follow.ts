import type { BulkJob } from '../../../client/index.js'
import { ExitWithFindings, Interrupted } from '../context.js'
import type { Session } from './gateway.js'
import { progressBar, progressText } from './progress.js'
import { CliError, explain, isRefusal } from './errors.js'

/** A job that a command has started or continues. */
interface Followed {
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

/** Waits until a job has ended, and shows how far it is. */
export async function waitForJob ({ persistentClient, signal, streams }: Session, jobId: string): Promise<BulkJob> {
  const meter = progressBar(streams.stderr)
  try {
    return await persistentClient.bulk.wait(jobId, { signal, onProgress: job => meter.show(progressText(job)) })
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
    else if (!(isRefusal(error) && error.status === 404)) {
      err(`The progress so far is kept. To resume, run:\n  ${again}\n`)
    }
    throw signal.aborted ? new Interrupted() : error
  }
}

async function cancelled ({ client, err }: Session, jobId: string): Promise<void> {
  try {
    const { status } = await client.bulk.cancel(jobId)
    err(status === 'cancelled' ? 'The job was cancelled.\n' : `The job had already ended with status ${status}.\n`)
  } catch (error) {
    err(`The job could not be cancelled: ${explain(error)}\nTo try again, run:\n  clinigate bulk cancel ${jobId}\n`)
  }
}

/** A word, quoted for a shell if necessary. */
export function shellQuote (word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll('\'', '\'\\\'\'')}'`
}
