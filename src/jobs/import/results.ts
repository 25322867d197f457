import { existsSync } from 'node:fs'
import { pipeline, Readable } from 'node:stream'
import { setImmediate as breathe, setTimeout as pause } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import Database from 'better-sqlite3'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type {} from '@fastify/accepts'
import { Failure } from '../../envelope/failures.js'
import { commonFailures, buildFailureResponses } from '../../envelope/openapi-responses.js'
import { requireNoQuery } from '../../envelope/query.js'
import type { Job } from '../model/job.js'
import { describeJobRoute, ndjsonContent, ndjsonTypes, jobIdParameters } from '../describe-jobs.js'
import { removeHeadersOnError, requireLocalFile, type DownloadsOptions } from '../downloads.js'
import { requireJob } from '../job-routes.js'
import { indexFile } from './import-job.js'
import { getImportCheckpoint } from './import-context.js'
import { states, type ResultRow } from './index-rows.js'
import { ResultCipher } from './result.js'

type WithId = FastifyRequest<{ Params: { id: string } }>

/** Lines that are sent before other requests are served. */
const linesPerTurn = 200

/**
 * Maximum number of attempts to query an index that is being written, and milliseconds between them: longer in total
 * than a busy gateway's write takes.
 */
const maxTries = 200
const retryMs = 25

const resultsRoute = describeJobRoute({
  ...jobIdParameters,
  operationId: 'readBulkResults',
  summary: 'Read the results of an import',
  description:
    "One result for each input line that is not blank, in input order: `line`, `status` (created, updated, unchanged, valid, failed or pending), `resourceType`, and the record's `id` or `code`, `message` and `field`. A line that was accepted with warnings has `warnings`, as `meta.warnings` of a single write, at most the first five. Lines that are still pending when the job has ended were not imported.",
  responses: {
    200: { description: 'The results so far.', content: ndjsonContent },
    ...buildFailureResponses([...commonFailures, 'NOT_FOUND'])
  }
})

/** `/v1/bulk/jobs/<id>/results`: the result of each line of an import, in order, also while the import is running. */
export async function importResultsRoute (scope: FastifyInstance, { jobs, spool }: DownloadsOptions): Promise<void> {
  scope.route({
    method: ['GET', 'HEAD'],
    url: '/bulk/jobs/:id/results',
    // A HEAD derived from the GET would read all of them.
    exposeHeadRoute: false,
    config: { mediaTypes: ndjsonTypes, isQuotaExempt: true, target: 'any' },
    ...resultsRoute,
    handler: async (request: WithId, reply) => {
      requireNoQuery(request)
      const job = await requireJob(jobs, request)
      if (job.request.kind !== 'import') throw new Failure('NOT_FOUND')
      requireLocalFile(job, spool)
      return send(reply, job, () =>
        Readable.from(streamResults(job, spool.getJobFiles(job).path(indexFile)), { objectMode: false })
      )
    }
  })
}

function send (reply: FastifyReply, { id }: Job, lines: () => Readable): FastifyReply {
  const { request } = reply
  const isZipped = request.accepts().encoding(['gzip', 'identity']) === 'gzip'
  const types = ndjsonTypes.toReversed()
  const preferred = request.headers.accept === undefined ? false : request.accepts().type(types)
  reply.type(typeof preferred === 'string' ? preferred : 'application/x-ndjson')
  reply.headers({
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
    'content-disposition': `attachment; filename="${id}-results.ndjson"`
  })
  if (isZipped) reply.header('content-encoding', 'gzip')
  if (request.method === 'HEAD') return reply.send()
  const file = removeHeadersOnError(reply, lines())
  return reply.send(isZipped ? pipeline(file, createGzip(), () => {}) : file)
}

interface StateRow extends ResultRow { readonly state: number }

/** One result per line of the input that is not blank; lines that were not read yet are pending. */
async function * streamResults (job: Job, path: string): AsyncGenerator<Buffer> {
  const read = yield * streamIndexedResults(job, path)
  const total = getImportCheckpoint(job).input?.lines ?? 0
  for (let last = read; last < total; last += linesPerTurn) {
    const rows = Array.from({ length: Math.min(linesPerTurn, total - last) }, (_, at) => ({
      line: last + at + 1,
      status: 'pending'
    }))
    yield Buffer.from(rows.map(row => `${JSON.stringify(row)}\n`).join(''))
    await breathe()
  }
}

/**
 * One result per line read so far. No transaction stays open between queries, so that the job's gateway is never
 * blocked.
 * @returns the number of the last line
 */
async function * streamIndexedResults ({ fileKey }: Job, path: string): AsyncGenerator<Buffer, number> {
  if (!existsSync(path)) return 0
  const db = new Database(path, { fileMustExist: true, timeout: 0 })
  try {
    const seal = new ResultCipher(fileKey)
    const sql = await retryWhileLocked(() =>
      db.prepare('SELECT line, type, result, state FROM lines WHERE line > ? ORDER BY line LIMIT ?')
    )
    for (let last = 0; ;) {
      const rows = await retryWhileLocked(() => sql.all(last, linesPerTurn) as StateRow[])
      if (rows.length === 0) return last
      last = rows.at(-1)!.line
      const lines = rows.filter(({ state }) => state !== states.skipped)
      yield Buffer.from(lines.map(row => `${formatResult(row, seal)}\n`).join(''))
      // A fast client would otherwise read all lines without a pause for other requests.
      await breathe()
    }
  } finally {
    db.close()
  }
}

/**
 * Queries an index until it is not locked. SQLite's own waiting would block this thread from finishing its own write.
 */
async function retryWhileLocked<T> (run: () => T): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return run()
    } catch (error) {
      if (!(error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY') || tries === maxTries) throw error
      await pause(retryMs)
    }
  }
}

function formatResult ({ line, type, result }: ResultRow, seal: ResultCipher): string {
  const { status = 'pending', ...more } = result === null ? {} : seal.open(line, result)
  return JSON.stringify({ line, status, ...type !== null && { resourceType: type }, ...more })
}
