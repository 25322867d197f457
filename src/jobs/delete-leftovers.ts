import type { FastifyBaseLogger } from 'fastify'
import type { Job } from './model/job.js'
import { indexFile } from './import/import-job.js'
import type { Spool } from './storage/files.js'

/** What deletes files of a job that nobody works on any more. */
interface GivingUp {
  readonly spool: Pick<Spool, 'deleteBut'>
  readonly log: Pick<FastifyBaseLogger, 'warn'>
}

/** What stays of a job that failed or was cancelled: files whose names begin so hold the results of an import. */
export const importResultsPrefix = indexFile

/**
 * Deletes what a job leaves that failed or was cancelled: what its client sent, and the half of an export, hold room on
 * the disk for nobody. The results of an import stay.
 */
export async function deleteLeftovers ({ id }: Pick<Job, 'id'>, { spool, log }: GivingUp): Promise<void> {
  // What can't be deleted now goes with the job.
  await spool
    .deleteBut(id, importResultsPrefix)
    .catch(error => log.warn({ err: error }, 'files of a bulk job that ended could not be deleted'))
}
