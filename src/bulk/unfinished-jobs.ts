import { Failure } from '../envelope/failures.js'
import type { Jobs, JobScope } from '../jobs/job.js'

/** The most jobs of an organization, live and test apart, that have not ended. Each keeps its files on a disk that all organizations share. */
export const mostUnfinished = 100

const retryAfterSeconds = '60'

/**
 * Looks whether an organization may start one more job. Those that are started at the same moment may be a few too many.
 * @throws {Failure} RATE_LIMITED when {@link mostUnfinished} jobs wait or run; BACKEND_UNAVAILABLE when nobody can tell
 */
export async function requireFewUnfinished (jobs: Pick<Jobs, 'list'>, scope: JobScope): Promise<void> {
  const { unfinished = 0 } = await jobs.list(scope, { count: 1 })
  if (unfinished < mostUnfinished) return
  throw new Failure('RATE_LIMITED', {
    message: `Your organization has ${mostUnfinished} bulk jobs that have not ended. Wait for some of them to end, or cancel some with DELETE /v1/bulk/jobs/<jobId>.`,
    headers: { 'retry-after': retryAfterSeconds }
  })
}
