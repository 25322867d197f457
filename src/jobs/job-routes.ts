import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../envelope/failures.js'
import {
  commonFailures, buildPageSchema, referToParameter, referTo, buildResponses
} from '../envelope/openapi-responses.js'
import {
  parseCount, parseQuery, toSafeName, getRawQuery, requireNoQuery, invalidParameter, type PageSize
} from '../envelope/query.js'
import { isJobId, type Job, type JobKind } from './model/job.js'
import type { Jobs } from './model/jobs.js'
import { requireScope, type Effect } from '../keys/scopes.js'
import { findOpenJob, listOpenJobs } from './open-jobs.js'
import { cancelRouteOptions, quotaExempt } from '../limits/monthly-quota.js'
import { pollRouteOptions } from '../limits/rate-limit.js'
import { describeJobRoute, jobIdParameters } from './describe-jobs.js'
import { presentJob, presentedJobSchema } from './present-job.js'

/** The options of the routes. */
interface JobRoutesOptions {
  readonly jobs: Pick<Jobs, 'find' | 'list' | 'cancel'>
  /** The gateway's own URL, before `/v1`. */
  readonly url: string
  readonly now: () => Date
}

type WithId = FastifyRequest<{ Params: { id: string } }>

const defaultCount = 20

/** The scope needed to end a job: the same as to start it. */
const effectOfJob: Readonly<Record<JobKind, Effect>> = { export: 'read', import: 'write' }

const job = referTo('BulkJob')

const described = {
  list: describeJobRoute({
    operationId: 'searchBulkJobs',
    summary: 'List bulk jobs',
    description: "The jobs of the key's organization and mode that have not expired, newest first.",
    query: { count: referToParameter('Count'), cursor: referToParameter('Cursor') },
    responses: buildResponses({ status: 200, description: 'A page.', data: buildPageSchema(job) }, [
      ...commonFailures,
      'INVALID_CURSOR'
    ])
  }),
  read: describeJobRoute({
    ...jobIdParameters,
    operationId: 'readBulkJob',
    summary: 'Read the status of a bulk job',
    responses: buildResponses({ status: 200, description: 'The current state of the job.', data: job }, [
      ...commonFailures,
      'NOT_FOUND'
    ])
  }),
  cancel: describeJobRoute({
    ...jobIdParameters,
    operationId: 'cancelBulkJob',
    summary: 'Cancel a bulk job',
    description:
      'A job that has ended does not change. Records that an import has written are kept; its results list them.',
    responses: buildResponses({ status: 200, description: 'The job after the request.', data: job }, [
      ...commonFailures,
      'NOT_FOUND'
    ])
  })
}

/** `/v1/bulk/jobs`: the jobs of the caller's organization and mode. Other jobs are reported as missing. */
export async function jobRoutes (scope: FastifyInstance, { jobs, url, now }: JobRoutesOptions): Promise<void> {
  scope.addSchema({ ...presentedJobSchema, $id: 'BulkJob' })
  const present = (job: Job) => presentJob(job, { url, now: now() })
  scope.get('/bulk/jobs', { config: { ...quotaExempt.config, target: 'any' }, ...described.list }, async request => {
    const { count, before, warnings } = readPart(request)
    request.warnings = warnings
    const { jobs: found, total } = await listOpenJobs(jobs, request.caller, {
      count: count + 1,
      ...(before !== undefined && { before })
    })
    const pageJobs = found.slice(0, count)
    const hasMore = found.length > count
    return { data: pageJobs.map(present), total, ...hasMore && { cursor: toCursor(pageJobs.at(-1)!) }, hasMore }
  })
  scope.get(
    '/bulk/jobs/:id',
    { config: { ...pollRouteOptions.config, target: 'any' }, ...described.read },
    async (request: WithId) => {
      requireNoQuery(request)
      return present(await requireJob(jobs, request))
    }
  )
  scope.delete(
    '/bulk/jobs/:id',
    { config: { ...cancelRouteOptions.config, effect: 'of the record' }, ...described.cancel },
    async (request: WithId) => {
      requireNoQuery(request)
      const job = await requireJob(jobs, request)
      requireScope(request.caller, effectOfJob[job.request.kind], 'any')
      return present((await jobs.cancel(job.id, request.caller)) ?? throwNotFound())
    }
  )
}

/** @throws {Failure} NOT_FOUND */
export async function requireJob (jobs: Pick<Jobs, 'find'>, { params: { id }, caller }: WithId): Promise<Job> {
  return (isJobId(id) ? await findOpenJob(jobs, id, caller) : undefined) ?? throwNotFound()
}

function throwNotFound (): never {
  throw new Failure('NOT_FOUND')
}

function readPart ({ raw }: FastifyRequest): PageSize & { readonly before?: Pick<Job, 'id' | 'createdAt'> } {
  const query = new Map<string, string>()
  for (const [name, value] of parseQuery(getRawQuery(raw.url))) {
    if (name !== 'count' && name !== 'cursor') {
      throw invalidParameter(toSafeName(name), 'no such parameter; the list of jobs takes count and cursor')
    }
    if (query.has(name)) throw invalidParameter(name, 'is given twice')
    query.set(name, value)
  }
  const cursor = query.get('cursor')
  const page = parseCount(query.get('count') ?? String(defaultCount))
  return { ...page, ...(cursor !== undefined && { before: readCursor(cursor) }) }
}

/** A position in the caller's own list: a forged cursor reveals no other jobs. */
function toCursor ({ id, createdAt }: Job): string {
  return Buffer.from(`${createdAt} ${id}`).toString('base64url')
}

function readCursor (cursor: string): Pick<Job, 'id' | 'createdAt'> {
  const [createdAt = '', id = '', ...more] = Buffer.from(cursor, 'base64url').toString('latin1').split(' ')
  const isOk =
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(createdAt) &&
    !Number.isNaN(Date.parse(createdAt)) &&
    isJobId(id) &&
    more.length === 0
  if (isOk) return { createdAt, id }
  throw new Failure('INVALID_CURSOR')
}
