import { randomBytes } from 'node:crypto'
import type { Kysely, Updateable } from 'kysely'
import type { ClaimedJob, Job, JobChange, JobDraft, JobPage, JobScope, Lease, Worker } from '../../jobs/model/job.js'
import type { Jobs, SaveResult } from '../../jobs/model/jobs.js'
import { maxUnfinishedJobs, tooManyUnfinished } from '../../jobs/model/unfinished-jobs.js'
import type { ControlContext } from './context.js'
import type { JobRow, Tables } from './tables.js'
import {
  toJobRow, toJob, idsAtOnce, acquireTransactionLock, isFreeAt, countUnfinished, toStateColumns, formatCheckpoint
} from './job-rows.js'
import { splitIntoChunks } from '../../json/chunks.js'

const hourMs = 3_600_000

/** How long a finished job and its files are retained. */
const retentionMs = 24 * hourMs

/**
 * A job that has not finished by then is abandoned, so that a client's data is not retained forever if a gateway never
 * returns.
 */
const unfinishedMs = 7 * 24 * hourMs

/**
 * A job whose files no gateway deletes is removed after this further time, together with the encryption key of the
 * files.
 */
const unsweptMs = unfinishedMs

/** Longer than any pause between attempts at a job. */
const maxPauseMs = 10 * 60_000

/**
 * Bulk jobs. At most one gateway works on a job at a time, however many control processes serve them. All times are by
 * the clock of the process that runs the query.
 */
export class JobStore implements Jobs {
  readonly #db: Kysely<Tables>
  readonly #now: () => Date

  constructor ({ db, now }: ControlContext) {
    this.#db = db
    this.#now = now
  }

  async create (draft: JobDraft): Promise<Job> {
    const row = toJobRow(draft, { createdAt: this.#getIsoTime(), expiresAt: this.#getIsoTime(unfinishedMs) })
    await this.#db.transaction().execute(async trx => {
      // Jobs that are created concurrently must count each other.
      await acquireTransactionLock(trx)
      const { numInsertedOrUpdatedRows } = await trx.insertInto('jobs').values(row).onConflict(conflict =>
        conflict.column('id').doNothing()
      ).executeTakeFirstOrThrow()
      const { unfinished } = await this.#selectJobs(draft.owner, trx).select(countUnfinished).executeTakeFirstOrThrow()
      if (numInsertedOrUpdatedRows === 1n && Number(unfinished) > maxUnfinishedJobs) throw tooManyUnfinished()
    })
    const made = await this.find(draft.id, draft.owner)
    if (made === undefined) throw new Error('the id of the new job is taken')
    return made
  }

  async find (id: string, scope: JobScope): Promise<Job | undefined> {
    const row = await this.#selectJobs(scope).selectAll().where('id', '=', id).executeTakeFirst()
    return row && toJob(row)
  }

  async list (scope: JobScope, { count, before }: Parameters<Jobs['list']>[1]): Promise<JobPage> {
    const { total, unfinished } = await this.#selectJobs(scope).select(({ fn }) => fn.countAll().as('total')).select(
      countUnfinished
    ).executeTakeFirstOrThrow()
    const rows = await this.#selectJobs(scope).selectAll().$if(before !== undefined,
      query =>
        query.where(eb =>
          eb.or([eb('createdAt', '<', before!.createdAt),
            eb.and([eb('createdAt', '=', before!.createdAt), eb('id', '<', before!.id)])])
        )).orderBy('createdAt', 'desc').orderBy('id', 'desc').limit(count).execute()
    return {
      jobs: rows.map(row => toJob({ ...row, checkpoint: null })),
      total: Number(total),
      unfinished: Number(unfinished)
    }
  }

  async cancel (id: string, scope: JobScope): Promise<Job | undefined> {
    await this.#db.updateTable('jobs').set({
      status: 'cancelled',
      completedAt: this.#getIsoTime(),
      expiresAt: this.#getIsoTime(retentionMs)
    }).where('id', '=', id).where('tenantId', '=', scope.tenantId).where('mode', '=',
      scope.mode).where('status', 'in', ['pending', 'processing']).where('expiresAt', '>', this.#getIsoTime()).execute()
    return this.find(id, scope)
  }

  async discard (id: string, scope: JobScope): Promise<void> {
    await this.cancel(id, scope)
    await this.#db
      .updateTable('jobs')
      .set({ expiresAt: this.#getIsoTime() })
      .where('id', '=', id)
      .where('tenantId', '=', scope.tenantId)
      .where('mode', '=', scope.mode)
      .where('expiresAt', '>', this.#getIsoTime())
      .execute()
  }

  async claim (worker: Worker): Promise<ClaimedJob | undefined> {
    await this.#handleClockSetBack(worker)
    // Usually there is no job to claim, which a query without the lock can detect.
    if (await this.#findClaimable(this.#db, worker) === undefined) return undefined
    return await this.#db.transaction().execute(async trx => {
      await acquireTransactionLock(trx)
      const row = await this.#findClaimable(trx, worker)
      if (row === undefined) return undefined
      const taken = await trx.updateTable('jobs').set({
        status: 'processing',
        gateway: worker.gateway,
        leaseNumber: row.leaseNumber + 1,
        leasedUntil: this.#getIsoTime(worker.leaseMs),
        startedAt: row.startedAt ?? this.#getIsoTime(),
        // The worker that had it disappeared.
        failures: row.leasedUntil === null ? row.failures : row.failures + 1
      }).where('id', '=', row.id).where('status', '=', row.status).returningAll().executeTakeFirst()
      return taken &&
        { job: toJob(taken), lease: { jobId: taken.id, number: taken.leaseNumber }, failures: taken.failures }
    })
  }

  async save ({ jobId, number }: Lease, change: JobChange, leaseMs: number): Promise<SaveResult> {
    const { numUpdatedRows } = await this.#updateLeased({ jobId, number }).set(this.#toColumns(change, leaseMs))
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 1n) return 'ok'
    const row = await this.#db.selectFrom('jobs').select('status').where('id', '=', jobId).where('leaseNumber', '=',
      number).executeTakeFirst()
    if (row?.status === 'cancelled') {
      await this.#saveLastProgress({ jobId, number }, change)
      return 'cancelled'
    }
    // The job was ended the same way before, and the response was lost.
    return row !== undefined && row.status === change.end?.status ? 'ok' : 'lost'
  }

  async release ({ jobId, number }: Lease, error?: { readonly afterMs: number }): Promise<void> {
    await this.#db.updateTable('jobs').set(eb => ({
      leasedUntil: null,
      ...error !== undefined && { notBefore: this.#getIsoTime(error.afterMs), failures: eb('failures', '+', 1) }
    })
    ).where('id', '=', jobId).where('leaseNumber', '=', number).where('leasedUntil', 'is not', null).execute()
  }

  async expired (storeId: string): Promise<readonly string[]> {
    await this.#db.deleteFrom('jobs').where('expiresAt', '<', this.#getIsoTime(-unsweptMs)).execute()
    const rows = await this.#db.selectFrom('jobs').select('id').where('storeId', '=', storeId).where('expiresAt', '<=',
      this.#getIsoTime()).where(isFreeAt(this.#getIsoTime())).orderBy('expiresAt').limit(idsAtOnce).execute()
    return rows.map(({ id }) => id)
  }

  async existing (ids: readonly string[]): Promise<readonly string[]> {
    const rows = await Promise.all(
      splitIntoChunks(ids, idsAtOnce).map(part =>
        this.#db.selectFrom('jobs').select('id').where('id', 'in', part).execute()
      )
    )
    return rows.flat().map(({ id }) => id)
  }

  async abandoned (ids: readonly string[]): Promise<readonly string[]> {
    const rows = await Promise.all(
      splitIntoChunks(ids, idsAtOnce).map(part =>
        this.#db.selectFrom('jobs').select('id').where('id', 'in', part).where('status', 'in', ['failed', 'cancelled'])
          .where(isFreeAt(this.#getIsoTime())).execute()
      )
    )
    return rows.flat().map(({ id }) => id)
  }

  async forget (ids: readonly string[]): Promise<void> {
    for (const part of splitIntoChunks(ids, idsAtOnce)) await this.#db.deleteFrom('jobs').where('id', 'in', part).execute()
  }

  async identityKey ({ tenantId, mode }: JobScope): Promise<string> {
    const findSecret = () =>
      this.#db.selectFrom('importIdentities').select('secret').where('tenantId', '=', tenantId).where('mode', '=', mode)
        .executeTakeFirst()
    const known = await findSecret()
    if (known !== undefined) return known.secret
    // Of concurrent first callers one inserts its secret, and all of them read it.
    await this.#db.insertInto('importIdentities').values({ tenantId, mode, secret: randomBytes(32).toString('base64') })
      .onConflict(conflict => conflict.doNothing()).execute()
    return (await findSecret())!.secret
  }

  /** The jobs that are visible in a scope. */
  #selectJobs ({ tenantId, mode }: JobScope, db = this.#db) {
    return db.selectFrom('jobs').where('tenantId', '=', tenantId).where('mode', '=', mode).where('expiresAt', '>',
      this.#getIsoTime())
  }

  #findClaimable (db: Kysely<Tables>, { storeId, perTenant }: Worker): Promise<JobRow | undefined> {
    const now = this.#getIsoTime()
    return db
      .selectFrom('jobs')
      .selectAll()
      .where('status', 'in', ['pending', 'processing'])
      .where('storeId', '=', storeId)
      .where(isFreeAt(now))
      .where('notBefore', '<=', now)
      .where('expiresAt', '>', now) // A cancelled job counts until its worker has left it.
      .where(
        ({ selectFrom }) =>
          selectFrom('jobs as held')
            .select(eb => eb.fn.countAll<number>().as('count'))
            .whereRef('held.tenantId', '=', 'jobs.tenantId')
            .where('held.leasedUntil', '>', now),
        '<',
        perTenant
      )
      .orderBy('createdAt')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
  }

  /**
   * If the clock was set back, restarts leases from now, since their workers may still be active, and ends pauses that
   * would last too long.
   */
  async #handleClockSetBack ({ storeId, leaseMs }: Worker): Promise<void> {
    const [lastLease, lastPause] = [this.#getIsoTime(leaseMs), this.#getIsoTime(maxPauseMs)]
    const found = await this.#db.selectFrom('jobs').select('id').where('storeId', '=', storeId).where(eb =>
      eb.or([eb('leasedUntil', '>', lastLease), eb('notBefore', '>', lastPause)])
    ).limit(1).executeTakeFirst()
    if (found === undefined) return
    await this.#db.updateTable('jobs').set({ leasedUntil: lastLease }).where('storeId', '=', storeId).where(
      'leasedUntil',
      '>',
      lastLease
    ).execute()
    await this.#db
      .updateTable('jobs')
      .set({ notBefore: this.#getIsoTime() })
      .where('storeId', '=', storeId)
      .where('notBefore', '>', lastPause)
      .execute()
  }

  #updateLeased ({ jobId, number }: Lease) {
    return this.#db.updateTable('jobs').where('id', '=', jobId).where('leaseNumber', '=', number).where('status', '=',
      'processing').where('leasedUntil', 'is not', null).where('expiresAt', '>', this.#getIsoTime())
  }

  /** Stores the last progress of a cancelled job. */
  async #saveLastProgress ({ jobId, number }: Lease, { progress, errors }: JobChange): Promise<void> {
    if (progress === undefined) return
    await this.#db.updateTable('jobs').set(toStateColumns({ progress, errors })).where('id', '=', jobId).where(
      'leaseNumber',
      '=',
      number
    ).where('status', '=', 'cancelled').where('leasedUntil', 'is not', null).execute()
  }

  #toColumns ({ progress, files, errors, checkpoint, end }: JobChange, leaseMs: number): Updateable<JobRow> {
    const hasComeOn = progress !== undefined || checkpoint !== undefined
    return {
      leasedUntil: end === undefined ? this.#getIsoTime(leaseMs) : null,
      ...toStateColumns({ progress, errors }),
      ...files !== undefined && { files: JSON.stringify(files) },
      ...checkpoint !== undefined && { checkpoint: formatCheckpoint(checkpoint) },
      ...hasComeOn && { failures: 0 },
      ...end !== undefined &&
        {
          status: end.status,
          failure: end.status === 'failed' ? JSON.stringify(end.failure) : null,
          completedAt: this.#getIsoTime(),
          expiresAt: this.#getIsoTime(retentionMs)
        }
    }
  }

  /** The time now, or in `inMs`. */
  #getIsoTime (inMs = 0): string {
    return new Date(this.#now().getTime() + inMs).toISOString()
  }
}
