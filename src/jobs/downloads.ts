import { createHash } from 'node:crypto'
import { pipeline, type Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type {} from '@fastify/accepts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { etagMatches } from '../envelope/preconditions.js'
import { toFailure } from '../envelope/error-handlers.js'
import { Failure } from '../envelope/failures.js'
import {
  commonFailures, buildFailureResponses, referToHeader, referToParameter
} from '../envelope/openapi-responses.js'
import { requireNoQuery } from '../envelope/query.js'
import type { Job, JobFile } from './model/job.js'
import type { Jobs } from './model/jobs.js'
import type { Spool } from './storage/files.js'
import { describeJobRoute, ndjsonContent, ndjsonTypes, jobIdParameters } from './describe-jobs.js'
import { requireJob } from './job-routes.js'
import { listDownloadableFiles } from './present-job.js'

/** The parts that downloads need. */
export interface DownloadsOptions {
  readonly jobs: Pick<Jobs, 'find'>
  readonly spool: Pick<Spool, 'getJobFiles' | 'storeId'>
}

type WithName = FastifyRequest<{ Params: { id: string, name: string } }>

const downloadRoute = describeJobRoute({
  operationId: 'downloadBulkFile',
  summary: 'Download a file of a completed export',
  description:
    'Newline-delimited JSON, compressed if the client accepts gzip. To resume an interrupted download, send `Range` and `If-Range`; the rest is uncompressed.',
  path: {
    ...jobIdParameters.path,
    name: {
      type: 'string',
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$',
      description: 'The name of the file, as in the URL that the job lists.'
    }
  },
  headers: {
    'If-None-Match': referToParameter('IfNoneMatch'),
    Range: { type: 'string', description: 'One part of the file, such as `bytes=1000-`.' },
    'If-Range': { type: 'string', description: 'The ETag of the file to resume.' }
  },
  responses: {
    200: { description: 'The whole file.', headers: { ETag: referToHeader('ETag') }, content: ndjsonContent },
    206: { description: 'The requested part.', headers: { ETag: referToHeader('ETag') }, content: ndjsonContent },
    304: { $ref: '#/components/responses/NotModified' },
    ...buildFailureResponses([...commonFailures, 'NOT_FOUND', 'RANGE_NOT_SATISFIABLE'])
  }
})

/** `/v1/bulk/jobs/<id>/files/<name>`: serves a completed job's files to its owner. */
export async function jobFileRoute (scope: FastifyInstance, { jobs, spool }: DownloadsOptions): Promise<void> {
  scope.route({
    method: ['GET', 'HEAD'],
    url: '/bulk/jobs/:id/files/:name',
    // A HEAD derived from the GET would read the full file.
    exposeHeadRoute: false,
    config: { mediaTypes: ndjsonTypes, isQuotaExempt: true, target: 'any' },
    ...downloadRoute,
    handler: async (request: WithName, reply) => {
      requireNoQuery(request)
      const job = await requireJob(jobs, request)
      const file = listDownloadableFiles(job).find(({ name }) => name === request.params.name)
      if (file === undefined) throw new Failure('NOT_FOUND')
      requireLocalFile(job, spool)
      return sendFile(reply, {
        job,
        file,
        read: range =>
          spool.getJobFiles(job).read(file.name, { ...range, state: { bytes: file.bytes, mark: file.mark ?? '' } })
      })
    }
  })
}

/** @throws {Failure} BACKEND_UNAVAILABLE if the files are at another gateway */
export function requireLocalFile ({ storeId }: Pick<Job, 'storeId'>, spool: Pick<Spool, 'storeId'>): void {
  if (storeId === spool.storeId) return
  throw new Failure('BACKEND_UNAVAILABLE', {
    message:
      'The files of this job are on another gateway, and this one cannot reach them. Try again, or ask the operator to give all gateways the same bulk.directory.',
    headers: { 'retry-after': '1' },
    cause: "the job's files are in another gateway's directory"
  })
}

interface Sending {
  readonly job: Job
  readonly file: JobFile
  readonly read: (range: { readonly start: number, readonly end: number }) => Readable
}

function sendFile (reply: FastifyReply, { job, file, read }: Sending): FastifyReply {
  const { request } = reply
  const { bytes, name } = file
  const isZipped = request.headers.range === undefined && request.accepts().encoding(['gzip', 'identity']) === 'gzip'
  // The file never changes; compressed, it has other bytes.
  const version = `${createHash('sha256').update(`${job.id} ${name} ${bytes}`).digest('hex').slice(0, 32)}${isZipped ? '-gzip' : ''}`
  reply.headers({
    etag: `"${version}"`,
    'last-modified': new Date(job.completedAt ?? job.createdAt).toUTCString(),
    'accept-ranges': 'bytes',
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
    'content-disposition': `attachment; filename="${name}${isZipped ? '.gz' : ''}"`
  })
  if (etagMatches(request.headers['if-none-match'], version)) return reply.code(304).send()
  reply.type(negotiateMediaType(job, request))
  if (isZipped) {
    return request.method === 'HEAD'
      ? reply.header('content-encoding', 'gzip').send()
      : sendZipped(reply, removeHeadersOnError(reply, read({ start: 0, end: bytes })))
  }
  const range = parseRange(request, { bytes, version })
  if (range !== undefined) reply.code(206).header('content-range', `bytes ${range.start}-${range.end - 1}/${bytes}`)
  const { start, end } = range ?? { start: 0, end: bytes }
  reply.header('content-length', String(end - start))
  return request.method === 'HEAD' ? reply.send() : reply.send(removeHeadersOnError(reply, read({ start, end })))
}

function negotiateMediaType ({ request: jobRequest }: Job, request: FastifyRequest): string {
  const isFhir = jobRequest.kind === 'export' && jobRequest.format === 'fhir'
  const types = isFhir ? [...ndjsonTypes] : ndjsonTypes.toReversed()
  const preferred = request.headers.accept === undefined ? false : request.accepts().type(types)
  return typeof preferred === 'string' ? preferred : types[0]!
}

const fileHeaders = [
  'etag',
  'last-modified',
  'accept-ranges',
  'content-disposition',
  'content-encoding',
  'content-range',
  'content-length'
] as const

/** Removes the headers that describe the file if it can't be read, since the response is then an error. */
export function removeHeadersOnError (reply: FastifyReply, file: Readable): Readable {
  return file.once('error', error => {
    if (reply.raw.headersSent) return reply.log.error({ err: toFailure(error).cause }, 'a download was cut off')
    for (const name of fileHeaders) {
      reply.removeHeader(name)
      reply.raw.removeHeader(name)
    }
  })
}

function sendZipped (reply: FastifyReply, file: Readable): FastifyReply {
  // Errors of either reach the reply, which is then aborted, so that half a file never looks complete.
  return reply.header('content-encoding', 'gzip').send(pipeline(file, createGzip(), () => {}))
}

/**
 * The byte range that a client requests, RFC 9110, section 14; undefined for the full file, which is also the response
 * to several ranges, and to a range of another version of the file.
 * @throws {Failure} RANGE_NOT_SATISFIABLE
 */
function parseRange (
  { headers }: FastifyRequest,
  { bytes, version }: { readonly bytes: number; readonly version: string }
): { readonly start: number; readonly end: number } | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.range ?? '') ?? []
  const condition = headers['if-range']
  if (first + last === '' || (condition !== undefined && condition !== `"${version}"`)) return undefined
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first)
  const end = first === '' || last === '' ? bytes : Math.min(bytes, Number(last) + 1)
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  if (start < end) return { start, end }
  throw new Failure('RANGE_NOT_SATISFIABLE', { headers: { 'content-range': `bytes */${bytes}` } })
}
