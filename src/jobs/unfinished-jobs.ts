import { Failure } from '../envelope/failures.js'
import type { Jobs, JobScope } from './job.js'

/** The most jobs of an organization, live and test apart, that have not ended. Each keeps its files on a disk that all organizations share. */
export const mostUnfinished = 100

const retryAfterSeconds = '60'

/** What a job is refused with while {@link mostUnfinished} jobs of its organization wait or run. */
export function tooManyUnfinished (): Failure {
  return new Failure('RATE_LIMITED', {
    message: `Your organization has ${mostUnfinished} bulk jobs that have not ended. Wait for some of them to end, or cancel some with DELETE /v1/bulk/jobs/<jobId>.`,
    headers: { 'retry-after': retryAfterSeconds }
  })
}

/** Whether it is what {@link tooManyUnfinished} says. */
export function isTooManyUnfinished (error: unknown): boolean {
  return error instanceof Failure && error.code === 'RATE_LIMITED'
}

/**
 * Looks, before a long upload, whether an organization may start one more job. Whether it really may is decided when the job is made.
 * @throws {Failure} RATE_LIMITED when {@link mostUnfinished} jobs wait or run; BACKEND_UNAVAILABLE when nobody can tell
 */
export async function requireFewUnfinished (jobs: Pick<Jobs, 'list'>, scope: JobScope): Promise<void> {
  const { unfinished = 0 } = await jobs.list(scope, { count: 1 })
  if (unfinished >= mostUnfinished) throw tooManyUnfinished()
}
