import type { FastifyBaseLogger } from 'fastify'
import type { Jobs } from '../model/jobs.js'
import { BackgroundTask } from '../../time/background-task.js'
import { importResultsPrefix } from '../delete-leftovers.js'
import type { Spool } from './files.js'

/** The parts of a sweeper; `now` is the wall clock, like that of the disk. */
interface SweeperParts {
  readonly jobs: Pick<Jobs, 'expired' | 'existing' | 'abandoned' | 'forget'>
  readonly spool: Pick<Spool, 'storeId' | 'delete' | 'deleteExcept' | 'listUnchangedSince' | 'listWithOtherFiles'>
  readonly now: () => Date
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn'>
  readonly everyMs?: number
}

/** A folder is created before its job, and an upload in between may take long. */
const orphanMs = 24 * 3_600_000

/** Maximum number of job ids in one request. */
const maxConcurrentRequests = 1_000

/**
 * Deletes the files of expired jobs, unneeded files of failed or cancelled jobs, and files of no job, until it is
 * closed.
 */
export class Sweeper {
  readonly #parts: Required<SweeperParts>
  readonly #loop: BackgroundTask
  #isFailing = false

  /** Starts immediately. */
  constructor (parts: SweeperParts) {
    this.#parts = { everyMs: 60_000, ...parts }
    this.#loop = new BackgroundTask(() => this.#turn())
  }

  async close (): Promise<void> {
    await this.#loop.stop()
  }

  async #turn (): Promise<number> {
    const { everyMs, log } = this.#parts
    try {
      await this.#sweepExpired()
      await this.#sweepOrphans()
      // Last, since an older control plane can't report which jobs these are.
      await this.#sweepAbandoned()
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) log.warn({ err: error }, 'files of old bulk jobs cannot be deleted at the moment')
      this.#isFailing = true
    }
    return everyMs
  }

  async #sweepExpired (): Promise<void> {
    const { jobs, spool, log } = this.#parts
    const ids = await jobs.expired(spool.storeId)
    for (const id of ids) await spool.delete(id)
    if (ids.length === 0) return
    await jobs.forget(ids)
    log.info({ jobs: ids.length }, 'old bulk jobs and their files were deleted')
  }

  async #sweepOrphans (): Promise<void> {
    const { jobs, spool, now, log } = this.#parts
    const quiet = await spool.listUnchangedSince(new Date(now().getTime() - orphanMs))
    if (quiet.length === 0) return
    const known = new Set(await jobs.existing(quiet))
    const orphans = quiet.filter(id => !known.has(id))
    for (const id of orphans) await spool.delete(id)
    if (orphans.length > 0) log.info({ folders: orphans.length }, 'files that belong to no bulk job were deleted')
  }

  /**
   * The worker that stops a job deletes these files itself; but a job may be cancelled without a worker, or fail with
   * the process.
   */
  async #sweepAbandoned (): Promise<void> {
    const { jobs, spool } = this.#parts
    const ids = await spool.listWithOtherFiles(importResultsPrefix)
    for (let at = 0; at < ids.length; at += maxConcurrentRequests) {
      for (const id of await jobs.abandoned(ids.slice(at, at + maxConcurrentRequests))) {
        await spool.deleteExcept(id, importResultsPrefix)
      }
    }
  }
}
