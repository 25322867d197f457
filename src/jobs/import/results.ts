import { existsSync } from 'node:fs'
import { pipeline, Readable } from 'node:stream'
import { setImmediate as breathe, setTimeout as pause } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import Database from 'better-sqlite3'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type {} from '@fastify/accepts'
import { Failure } from '../../envelope/failures.js'
import { rawQuery } from '../../envelope/query.js'
import type { Job } from '../model/job.js'
import { fileFor, ndjsonTypes, requireLocalFile, type DownloadsOptions } from '../downloads.js'
import { jobOf } from '../job-routes.js'
import { indexFile } from './import-job.js'
import type { ResultRow } from './index-rows.js'
import { ResultCipher } from './result.js'

type WithId = FastifyRequest<{ Params: { id: string } }>

/** Lines that are told of between two breaths. */
const together = 200

/**
 * How often an index is asked that is being written, and milliseconds in between: more than the writer of a gateway
 * that is busy takes.
 */
const maxTries = 200
const retryMs = 25

/** `/v1/bulk/jobs/<id>/results`: what became of each line of an import, in their order, also while it is under way. */
export async function writeResults (scope: FastifyInstance, { jobs, spool }: DownloadsOptions): Promise<void> {
  scope.route({
    method: ['GET', 'HEAD'],
    url: '/bulk/jobs/:id/results',
    // A HEAD that is made of the GET would read all of them.
    exposeHeadRoute: false,
    config: { mediaTypes: ndjsonTypes, isQuotaExempt: true },
    handler: async (request: WithId, reply) => {
      if (rawQuery(request.raw.url) !== '') throw new Failure('BAD_REQUEST', { message: 'Send no query parameters.' })
      const job = await jobOf(jobs, request)
      if (job.request.kind !== 'import') throw new Failure('NOT_FOUND')
      requireLocalFile(job, spool)
      return send(reply, job, () => Readable.from(linesOf(job, spool.of(job).path(indexFile)), { objectMode: false }))
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
  const file = fileFor(reply, lines())
  return reply.send(isZipped ? pipeline(file, createGzip(), () => {}) : file)
}

/** A line for each of the input, as far as it is known how many there are. */
async function * linesOf (job: Job, path: string): AsyncGenerator<Buffer> {
  const read = yield * linesRead(job, path)
  const { total = 0 } = job.progress
  for (let last = read; last < total; last += together) {
    const rows = Array.from({ length: Math.min(together, total - last) }, (_, at) => ({
      line: last + at + 1,
      status: 'pending'
    }))
    yield Buffer.from(rows.map(row => `${JSON.stringify(row)}\n`).join(''))
    await breathe()
  }
}

/**
 * A line for each that was read by now. Nothing is held open in between, so that whoever works on the job is never kept
 * waiting. @returns the last one's number
 */
async function * linesRead ({ fileKey }: Job, path: string): AsyncGenerator<Buffer, number> {
  if (!existsSync(path)) return 0
  const db = new Database(path, { fileMustExist: true, timeout: 0 })
  try {
    const seal = new ResultCipher(fileKey)
    const sql = await unlocked(() =>
      db.prepare('SELECT line, type, result FROM lines WHERE line > ? ORDER BY line LIMIT ?')
    )
    for (let last = 0; ;) {
      const rows = await unlocked(() => sql.all(last, together) as ResultRow[])
      if (rows.length === 0) return last
      last = rows.at(-1)!.line
      yield Buffer.from(rows.map(row => `${printed(row, seal)}\n`).join(''))
      // Whoever reads fast would otherwise have all lines in one turn.
      await breathe()
    }
  } finally {
    db.close()
  }
}

/**
 * Asks an index until nobody writes it. Not by SQLite's own waiting, which would keep this thread from ending what it
 * writes itself.
 */
async function unlocked<T> (run: () => T): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return run()
    } catch (error) {
      if (!(error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY') || tries === maxTries) throw error
      await pause(retryMs)
    }
  }
}

function printed ({ line, type, result }: ResultRow, seal: ResultCipher): string {
  const { status = 'pending', ...more } = result === null ? {} : seal.open(line, result)
  return JSON.stringify({ line, status, ...type !== null && { resourceType: type }, ...more })
}
