import type { FastifyInstance } from 'fastify'
import type { Jobs } from '../jobs/job.js'
import { isTooManyUnfinished } from '../jobs/unfinished-jobs.js'
import { plainNumbers } from '../json.js'
import { jobCalls, jobQuestionBytes } from './job-messages.js'

/** What gateways ask of the jobs: a route for each question, whose body is the list of what it is asked with. */
export function jobRoutes (scope: FastifyInstance, jobs: Jobs): void {
  for (const name of Object.keys(jobCalls) as Array<keyof Jobs>) {
    const ask = (given: unknown[]): Promise<unknown> => (jobs[name] as (...given: unknown[]) => Promise<unknown>).apply(jobs, given)
    // A gateway asks every second or so.
    const options = { schema: { body: jobCalls[name].asked }, bodyLimit: jobQuestionBytes, logLevel: 'warn' } as const
    scope.post<{ Body: unknown[] }>(`/jobs/${name}`, options, async ({ body }) => ({ answer: await ask(plainNumbers(body)).catch(noneIfTooMany) }))
  }
}

/** A gateway is answered that there is no job; every other failure would say that the control plane can't be asked. */
function noneIfTooMany (error: unknown): undefined {
  if (!isTooManyUnfinished(error)) throw error
}
