import type { Job } from '../model/job.js'
import type { ExportPosition } from '../../tenant-guard/export/position.js'
import type { Written } from './output.js'

/** Where an export can go on: what was taken from the datastore, and what of it is in the files. */
export interface ExportCheckpoint { readonly position: ExportPosition, readonly written: readonly Written[] }

/** The checkpoint of an export, which nothing else writes. */
export function checkpointOf ({ checkpoint }: Pick<Job, 'checkpoint'>): ExportCheckpoint | undefined {
  return checkpoint as ExportCheckpoint | undefined
}

/** The time for which an export holds at least the state of the records: what a later export requests with `_since`. */
export function transactionTimeOf (job: Pick<Job, 'checkpoint' | 'startedAt' | 'createdAt'>): string {
  return checkpointOf(job)?.position.asOf ?? job.startedAt ?? job.createdAt
}
