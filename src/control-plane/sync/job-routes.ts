import type { FastifyInstance } from 'fastify'
import { rawQuery } from '../../envelope/query.js'
import type { Jobs } from '../../jobs/model/jobs.js'
import { isTooManyUnfinished } from '../../jobs/model/unfinished-jobs.js'
import { plainNumbers } from '../../json/json.js'
import { jobCalls, maxJobRequestBytes, tooMany, withReasons } from './job-messages.js'

/** The calls of gateways to the jobs: one route per call. The body has the arguments. */
export function jobRoutes (scope: FastifyInstance, jobs: Jobs): void {
  for (const name of Object.keys(jobCalls) as Array<keyof Jobs>) {
    const call = (args: unknown[]): Promise<unknown> =>
      (jobs[name] as (...given: unknown[]) => Promise<unknown>).apply(jobs, args)
    // Gateways call about once a second.
    const options = {
      schema: { body: jobCalls[name].request },
      bodyLimit: maxJobRequestBytes,
      logLevel: 'warn'
    } as const
    scope.post<{ Body: unknown[] }>(`/jobs/${name}`, options, async ({ body, raw }) => {
      try {
        return { response: await call(plainNumbers(body)) }
      } catch (error) {
        return refusal(error, rawQuery(raw.url) === withReasons)
      }
    })
  }
}

/**
 * The response that no job was made. @throws every other failure, since gateways take any failure to mean that the
 * control plane can't be reached
 */
function refusal (error: unknown, takesReasons: boolean): object {
  if (!isTooManyUnfinished(error)) throw error
  return takesReasons ? { refused: tooMany } : {}
}
