import type { FastifyInstance } from 'fastify'
import type { Jobs } from '../jobs/job.js'
import { isTooManyUnfinished } from '../jobs/unfinished-jobs.js'
import { plainNumbers } from '../json.js'
import { jobCalls, jobQuestionBytes } from './job-messages.js'

/** The calls of gateways to the jobs: one route per call. The body has the arguments. */
export function jobRoutes (scope: FastifyInstance, jobs: Jobs): void {
  for (const name of Object.keys(jobCalls) as Array<keyof Jobs>) {
    const ask = (given: unknown[]): Promise<unknown> => (jobs[name] as (...given: unknown[]) => Promise<unknown>).apply(jobs, given)
    // Gateways call about once a second.
    const options = { schema: { body: jobCalls[name].asked }, bodyLimit: jobQuestionBytes, logLevel: 'warn' } as const
    scope.post<{ Body: unknown[] }>(`/jobs/${name}`, options, async ({ body }) => ({ answer: await ask(plainNumbers(body)).catch(noneIfTooMany) }))
  }
}

/** Answers "too many jobs" with no job, since a gateway takes any failure to mean that the control plane can't be reached. */
function noneIfTooMany (error: unknown): undefined {
  if (!isTooManyUnfinished(error)) throw error
}
