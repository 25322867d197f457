import { Failure } from '../../envelope/failures.js'
import type { JobScope } from './job.js'
import type { Jobs } from './jobs.js'

/**
 * The maximum number of unfinished jobs of an organization, separately for live and test. Each has files on a disk that
 * all organizations share.
 */
export const maxUnfinishedJobs = 100

const retryAfterSeconds = '60'

/** The refusal of a job while {@link maxUnfinishedJobs} jobs of its organization wait or run. */
export function tooManyUnfinished (): Failure {
  return new Failure('RATE_LIMITED', {
    message: `Your organization has ${maxUnfinishedJobs} bulk jobs that have not ended. Wait for some of them to end, or cancel some with DELETE /v1/bulk/jobs/<jobId>.`,
    headers: { 'retry-after': retryAfterSeconds }
  })
}

/** Whether an error is that of {@link tooManyUnfinished}. */
export function isTooManyUnfinished (error: unknown): boolean {
  return error instanceof Failure && error.code === 'RATE_LIMITED'
}

/**
 * Checks before a long upload whether an organization may start another job. The final check is made when the job is
 * created.
 * @throws {Failure} RATE_LIMITED if {@link maxUnfinishedJobs} jobs wait or run; BACKEND_UNAVAILABLE if that is unknown
 */
export async function requireFewUnfinished (jobs: Pick<Jobs, 'list'>, scope: JobScope): Promise<void> {
  const { unfinished = 0 } = await jobs.list(scope, { count: 1 })
  if (unfinished >= maxUnfinishedJobs) throw tooManyUnfinished()
}
