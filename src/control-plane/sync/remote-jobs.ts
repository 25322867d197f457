import { Failure } from '../../envelope/failures.js'
import { toJobOwner, type Job, type JobScope } from '../../jobs/model/job.js'
import type { Jobs } from '../../jobs/model/jobs.js'
import { tooManyUnfinished } from '../../jobs/model/unfinished-jobs.js'
import { ControlPlaneError } from './link.js'
import { isJobResponse, reasonsQuery, type JobResponse } from './job-messages.js'
import { unreadableResponse } from './messages.js'

const retryAfterSeconds = 5

/**
 * The jobs of a control plane in another process. `post` sends a message to a path below that of the link, and returns
 * the response's text. Any error is thrown as a Failure that a client of the gateway may see.
 */
export function createRemoteJobs (post: (path: string, content: object) => Promise<string>): Jobs {
  const call = (name: keyof Jobs, query = '') => async (...args: readonly unknown[]): Promise<any> => {
    try {
      const read: unknown = JSON.parse(await post(`/jobs/${name}${query}`, args))
      if (isJobResponse[name](read)) return (read as JobResponse).response
    } catch (error) {
      throw unreachable(error)
    }
    throw unreachable(new ControlPlaneError(unreadableResponse))
  }
  return {
    create: async draft => {
      const job: Job | undefined = await call(
        'create',
        `?${reasonsQuery}`
      )({ ...draft, owner: toJobOwner(draft.owner) })
      // There is only one reason, which an older control plane does not send.
      if (job === undefined) throw tooManyUnfinished()
      return job
    },
    find: (id, scope) => call('find')(id, toScope(scope)),
    list: (scope, { count, before }) =>
      call('list')(toScope(scope), {
        count,
        ...(before !== undefined && { before: { id: before.id, createdAt: before.createdAt } })
      }),
    cancel: (id, scope) => call('cancel')(id, toScope(scope)),
    discard: (id, scope) => call('discard')(id, toScope(scope)),
    claim: call('claim'),
    save: call('save'),
    release: call('release'),
    expired: call('expired'),
    existing: call('existing'),
    abandoned: call('abandoned'),
    forget: call('forget'),
    identityKey: scope => call('identityKey')(toScope(scope))
  }
}

/** Only the members of a scope, since the object may be a complete caller. */
const toScope = ({ tenantId, mode }: JobScope): JobScope => ({ tenantId, mode })

function unreachable (cause: unknown): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message:
      'The control plane, which stores the bulk jobs, cannot be reached. All other requests are served meanwhile.',
    retryAfterSeconds,
    cause
  })
}
