import type { FastifyBaseLogger } from 'fastify'
import type { Job } from './model/job.js'
import { indexFile } from './import/import-job.js'
import type { Spool } from './storage/files.js'

/** The parts needed to delete the files of a job that failed or was cancelled. */
interface CleanupParts {
  readonly spool: Pick<Spool, 'deleteExcept'>
  readonly log: Pick<FastifyBaseLogger, 'warn'>
}

/** The prefix of the files that remain after a job failed or was cancelled: they hold the results of an import. */
export const importResultsPrefix = indexFile

/**
 * Deletes the leftovers of a job that failed or was cancelled: the client's input and the unfinished export, which take
 * up disk space without use. The results of an import stay.
 */
export async function deleteLeftovers ({ id }: Pick<Job, 'id'>, { spool, log }: CleanupParts): Promise<void> {
  // Files that can't be deleted now are deleted with the job.
  await spool
    .deleteExcept(id, importResultsPrefix)
    .catch(error => log.warn({ err: error }, 'files of a bulk job that ended could not be deleted'))
}
