import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '../../envelope/failures.js'
import { requireNoQuery } from '../../envelope/query.js'
import type { ExportRequest, Job } from '../../jobs/model/job.js'
import { requireScope } from '../../keys/scopes.js'
import { cancelRouteOptions } from '../../limits/monthly-quota.js'
import { pollRouteOptions } from '../../limits/rate-limit.js'
import type { Export } from '../../tenant-guard/interaction.js'
import type { TenantStore } from '../../tenant-guard/guard.js'
import { toJobFailure, sendJobManifest, sendJobResponse, sendProgress } from './job-responses.js'
import { parsePrefer } from './preferences.js'

/** The exports of a caller, which jobs gather. */
export interface Exports {
  readonly begin: (request: FastifyRequest, requested: ExportRequest) => Promise<Job>
  /** The caller's export, unless it was discarded; undefined where there is none. */
  readonly find: (request: FastifyRequest, jobId: string) => Promise<Job | undefined>
  /** `find` no longer returns it afterwards. */
  readonly discard: (request: FastifyRequest, jobId: string) => Promise<void>
  /** The time for which it holds at least the state of the records. */
  readonly getTransactionTime: (job: Job) => string
  /** The URL of the request that began it, at the gateway. */
  readonly getRequestUrl: (job: Job) => Promise<string>
  /** The files of a completed one, at the gateway's URLs. */
  readonly filesOf: (
    job: Job
  ) => ReadonlyArray<{ readonly resourceType: string; readonly count: number; readonly url: string }>
}

/**
 * Starts the export of a request, and responds with the URL of its state:
 * http://hl7.org/fhir/uv/bulkdata/export.html (version 3.0.0)
 */
export async function kickOff (
  reply: FastifyReply,
  interaction: Export,
  { exports, store, url }: { readonly exports: Exports; readonly store: TenantStore; readonly url: string }
): Promise<FastifyReply> {
  const { request } = reply
  if (request.method === 'HEAD') throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: 'GET, POST' } })
  if (!parsePrefer(request).isAsync) {
    throw new Failure('BAD_REQUEST', {
      message: 'Send the header Prefer: respond-async. An export runs as a job whose files are downloaded afterwards.'
    })
  }
  await store.requireExportable(interaction)
  const job = await exports.begin(request, { ...interaction.request, url: `${url}${request.raw.url!}` })
  reply.header('content-location', `${url}/v1/fhir/_export/${job.id}`)
  return sendJobResponse(reply.code(202), 'The export has started. Poll its status at the URL in Content-Location.')
}

type WithId = FastifyRequest<{ Params: { id: string } }>

/** `/v1/fhir/_export/<id>`: the progress of an export, its manifest, and its end. */
export async function exportRoutes (
  scope: FastifyInstance,
  { exports, now }: { readonly exports: Exports; readonly now: () => Date }
): Promise<void> {
  const requireJob = async (request: WithId): Promise<Job> => {
    requireNoQuery(request)
    return (await exports.find(request, request.params.id)) ?? throwNotFound()
  }
  scope.get('/_export/:id', pollRouteOptions, async (request: WithId, reply) => {
    requireScope(request.caller, 'read', 'any')
    const job = await requireJob(request)
    if (job.status === 'failed') throw toJobFailure(job)
    if (job.status === 'completed') return await sendManifest(reply, job, exports)
    return sendProgress(reply, job, computeRetryAfter(job, now()))
  })
  scope.delete('/_export/:id', cancelRouteOptions, async (request: WithId, reply) => {
    requireScope(request.caller, 'read', 'any')
    const job = await requireJob(request)
    await exports.discard(request, job.id)
    return sendJobResponse(reply.code(202), 'The export was ended and its files were deleted.')
  })
}

function throwNotFound (): never {
  throw new Failure('NOT_FOUND')
}

async function sendManifest (reply: FastifyReply, job: Job, exports: Exports): Promise<FastifyReply> {
  const output = exports.filesOf(job).map(({ resourceType: type, url, count }) => ({ type, url, count }))
  const leftOutTypes = job.request.kind === 'export' ? job.request.leftOutTypes : undefined
  const manifest = {
    transactionTime: exports.getTransactionTime(job),
    request: await exports.getRequestUrl(job),
    requiresAccessToken: true,
    output,
    error: [],
    ...leftOutTypes !== undefined && { extension: { leftOutTypes } }
  }
  return sendJobManifest(reply, job, manifest)
}

const maxWaitSeconds = 30
/** Retry-After as a fraction of the time that an export has taken so far. */
const retryFraction = 1 / 5

/** Seconds after which to request the progress again. */
function computeRetryAfter ({ createdAt }: Job, now: Date): number {
  const seconds = Math.ceil(((now.getTime() - Date.parse(createdAt)) / 1_000) * retryFraction)
  return Math.min(Math.max(seconds, 1), maxWaitSeconds)
}
