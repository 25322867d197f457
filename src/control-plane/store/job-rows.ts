import { ownerOf, type Job, type JobDraft } from '../../jobs/model/job.js'
import type { JobRow } from './job-tables.js'

/** The row of a new job. */
export function jobRow (
  { id, owner, request, storeId, fileKey, progress, checkpoint }: JobDraft,
  { createdAt, expiresAt }: Pick<JobRow, 'createdAt' | 'expiresAt'>
): JobRow {
  return {
    id,
    tenantId: owner.tenantId,
    mode: owner.mode,
    owner: JSON.stringify(ownerOf(owner)),
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
