import type { ExpressionBuilder, Kysely, Updateable } from 'kysely'
import type { JobChange } from '../../jobs/model/job.js'
import { maxCheckpoint } from '../../jobs/model/jobs.js'
import type { JobRow } from './job-tables.js'
import type { Tables } from './tables.js'

/** The most ids in one statement. */
export const idsAtOnce = 500

/**
 * Serializes transactions. They start with a write: SQLite then acquires the write lock immediately, and PostgreSQL
 * lets them wait for each other here.
 */
export async function takeTurn (trx: Kysely<Tables>): Promise<void> {
  await trx.updateTable('jobTurn').set(eb => ({ claims: eb('claims', '+', 1) })).execute()
}

/** Whether no worker has the job's lease. */
export const isFreeAt = (time: string) => (eb: ExpressionBuilder<Tables, 'jobs'>) =>
  eb.or([eb('leasedUntil', 'is', null), eb('leasedUntil', '<=', time)])

/** How many of an organization's jobs have not ended, as `unfinished`. */
export const countUnfinished = ({ fn }: ExpressionBuilder<Tables, 'jobs'>) =>
  fn.countAll().filterWhere('completedAt', 'is', null).as('unfinished')

/** The columns of what a change says of progress and errors; none for what it leaves as stored. */
export function stateColumns ({ progress, errors }: Pick<JobChange, 'progress' | 'errors'>): Updateable<JobRow> {
  return {
    ...progress !== undefined &&
      { total: progress.total ?? null, processed: progress.processed, failed: progress.failed },
    ...errors !== undefined && { errors: JSON.stringify(errors) }
  }
}

/** A checkpoint as JSON. @throws {Error} if it is longer than {@link maxCheckpoint} */
export function printed (checkpoint: unknown): string {
  const text = JSON.stringify(checkpoint)
  if (text.length > maxCheckpoint) throw new Error('the checkpoint of a job is too long')
  return text
}
