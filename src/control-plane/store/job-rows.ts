import type { ExpressionBuilder, Kysely, Updateable } from 'kysely'
import { toJobOwner, type JobChange, type Job, type JobDraft } from '../../jobs/model/job.js'
import { maxCheckpoint } from '../../jobs/model/jobs.js'
import type { JobRow, Tables } from './tables.js'

/** The most ids in one statement. */
export const idsAtOnce = 500

/**
 * Serializes transactions. They start with a write: SQLite then acquires the write lock immediately, and PostgreSQL
 * lets them wait for each other here.
 */
export async function acquireTransactionLock (trx: Kysely<Tables>): Promise<void> {
  await trx.updateTable('jobTurn').set(eb => ({ claims: eb('claims', '+', 1) })).execute()
}

/** Whether no worker has the job's lease. */
export const isFreeAt = (time: string) => (eb: ExpressionBuilder<Tables, 'jobs'>) =>
  eb.or([eb('leasedUntil', 'is', null), eb('leasedUntil', '<=', time)])

/** How many of an organization's jobs have not ended, as `unfinished`. */
export const countUnfinished = ({ fn }: ExpressionBuilder<Tables, 'jobs'>) =>
  fn.countAll().filterWhere('completedAt', 'is', null).as('unfinished')

/** The columns of a change's progress and errors; none for the parts that the change leaves as stored. */
export function toStateColumns ({ progress, errors }: Pick<JobChange, 'progress' | 'errors'>): Updateable<JobRow> {
  return {
    ...progress !== undefined &&
      { total: progress.total ?? null, processed: progress.processed, failed: progress.failed },
    ...errors !== undefined && { errors: JSON.stringify(errors) }
  }
}

/** A checkpoint as JSON. @throws {Error} if it is longer than {@link maxCheckpoint} */
export function formatCheckpoint (checkpoint: unknown): string {
  const text = JSON.stringify(checkpoint)
  if (text.length > maxCheckpoint) throw new Error('the checkpoint of a job is too long')
  return text
}

/** The row of a new job. */
export function toJobRow (
  { id, owner, request, storeId, fileKey, progress, checkpoint }: JobDraft,
  { createdAt, expiresAt }: Pick<JobRow, 'createdAt' | 'expiresAt'>
): JobRow {
  return {
    id,
    tenantId: owner.tenantId,
    mode: owner.mode,
    owner: JSON.stringify(toJobOwner(owner)),
    status: 'pending',
    request: JSON.stringify(request),
    storeId,
    fileKey,
    total: progress?.total ?? null,
    processed: progress?.processed ?? 0,
    failed: progress?.failed ?? 0,
    files: '[]',
    errors: '[]',
    failure: null,
    checkpoint: checkpoint === undefined ? null : JSON.stringify(checkpoint),
    createdAt,
    startedAt: null,
    completedAt: null,
    expiresAt,
    gateway: null,
    leaseNumber: 0,
    leasedUntil: null,
    notBefore: createdAt,
    failures: 0
  }
}

/** The job in a row. */
export function toJob (row: JobRow): Job {
  const {
    id,
    status,
    storeId,
    fileKey,
    total,
    processed,
    failed,
    failure,
    checkpoint,
    createdAt,
    startedAt,
    completedAt,
    expiresAt
  } = row
  return {
    id,
    owner: JSON.parse(row.owner),
    status,
    request: JSON.parse(row.request),
    storeId,
    fileKey,
    progress: { ...total !== null && { total }, processed, failed },
    files: JSON.parse(row.files),
    errors: JSON.parse(row.errors),
    ...failure !== null && { failure: JSON.parse(failure) },
    ...checkpoint !== null && { checkpoint: JSON.parse(checkpoint) },
    createdAt,
    ...startedAt !== null && { startedAt },
    ...completedAt !== null && { completedAt },
    expiresAt
  }
}
