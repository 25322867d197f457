import type { Job } from '../model/job.js'
import type { ExportPosition } from '../../tenant-guard/export/position.js'
import type { Written } from './output.js'

/** The state from which an export can resume: its position in the datastore, and the records in its files. */
export interface ExportCheckpoint { readonly position: ExportPosition, readonly written: readonly Written[] }

/** The checkpoint of an export, which only exports write; undefined when the job has none. */
export function checkpointOf ({ checkpoint }: Pick<Job, 'checkpoint'>): ExportCheckpoint | undefined {
  return checkpoint as ExportCheckpoint | undefined
}

/** The time whose state of the records an export includes at least: a later export uses it as `_since`. */
export function transactionTimeOf (job: Pick<Job, 'checkpoint' | 'startedAt' | 'createdAt'>): string {
  return checkpointOf(job)?.position.asOf ?? job.startedAt ?? job.createdAt
}
