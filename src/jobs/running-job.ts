import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { getBackoffMs } from '../time/backoff.js'
import { toFailure } from '../envelope/error-handlers.js'
import { Failure } from '../envelope/failures.js'
import type { ClaimedJob, JobChange, JobKind } from './model/job.js'
import type { Jobs } from './model/jobs.js'
import { BackgroundTask } from '../time/background-task.js'
import type { Spool } from './storage/files.js'
import { deleteLeftovers } from './delete-leftovers.js'
import { PermanentFailure, isCancelled, JobInterrupted, type JobHandler } from './job-context.js'

/** The parts needed to run one job. */
interface RunningJobParts {
  readonly jobs: Pick<Jobs, 'save' | 'release'>
  readonly spool: Pick<Spool, 'getJobFiles' | 'deleteExcept'>
  readonly doJob: JobHandler
  /** Whether a key has been revoked. */
  readonly isRevoked: (keyId: string) => boolean
  readonly leaseMs: number
  readonly log: FastifyBaseLogger
}

/** The parts needed to run jobs of each kind. */
export interface JobStarterParts extends Omit<RunningJobParts, 'doJob'> {
  readonly doJob: Readonly<Record<JobKind, JobHandler>>
}

/** A job that runs. */
export interface StartedJob extends Pick<RunningJob, 'done' | 'checkForCancellation' | 'stop'> {}

/** Starts a job that was claimed; `claimedAt` is when the claim was requested, by the monotonic clock. */
export type StartJob = (claimed: ClaimedJob, claimedAt: number) => StartedJob

/**
 * Starts jobs in this thread. A job that lost its lease may be claimed again before its earlier run has closed its
 * files; the new run waits for that, since two that write to them would take each other's lines for duplicates.
 */
export function createJobStarter ({ doJob, ...parts }: JobStarterParts): StartJob {
  const runs = new Map<string, Promise<void>>()
  return (claimed, claimedAt) => {
    const { id, request: { kind } } = claimed.job
    const earlier = runs.get(id)
    const run = new RunningJob(claimed, {
      ...parts,
      doJob: async work => {
        await earlier
        work.signal.throwIfAborted()
        await doJob[kind](work)
      }
    }, claimedAt)
    runs.set(id, run.done)
    run.done.then(() => { if (runs.get(id) === run.done) runs.delete(id) })
    return run
  }
}

const pauses = { firstMs: 5_000, maxMs: 600_000 }

/** Maximum number of failures without progress; with the pauses they take more than two hours. */
const maxFailures = 20

const retryMs = 1_000

/** Longer than a lease lasts: a change that is refused while the lease is renewed will always be refused. */
const maxTries = 60

/** Runs one job: renews its lease meanwhile, and stores the outcome in the job. */
export class RunningJob {
  readonly #claimed: ClaimedJob
  readonly #parts: RunningJobParts
  readonly #log: FastifyBaseLogger
  readonly #stopping = new AbortController()
  readonly #renewal: BackgroundTask
  #stopReason: JobInterrupted['why'] | undefined
  #failures: number
  #leasedUntil: number
  #deadline: NodeJS.Timeout

  /** Resolves when the job was released; never rejects. */
  readonly done: Promise<void>

  /** Starts immediately. `claimedAt` is when the claim was requested, by the monotonic clock. */
  constructor (claimed: ClaimedJob, parts: RunningJobParts, claimedAt: number) {
    this.#claimed = claimed
    this.#parts = parts
    this.#log = parts.log.child({ job: claimed.job.id })
    this.#failures = claimed.failures
    this.#leasedUntil = claimedAt
    this.#deadline = setTimeout(() => {})
    this.#extendLease(claimedAt)
    // First, since it checks immediately whether the key is revoked.
    this.#renewal = new BackgroundTask(() => this.#renew())
    this.done = this.#run()
    this.done.then(() => this.#renewal.stop())
  }

  /** Checks immediately whether the job was cancelled. */
  checkForCancellation (): void {
    this.#renewal.wake()
  }

  /** Stops the work, so that the job can continue elsewhere. */
  stop (): void {
    this.#interrupt('stopping')
  }

  async #run (): Promise<void> {
    try {
      await this.#runHandler()
      await this.#save({ end: { status: 'completed' } })
      this.#log.info({ kind: this.#claimed.job.request.kind }, 'a bulk job completed')
    } catch (error) {
      await this.#handleError(error).catch(cause =>
        this.#log.warn({ err: cause }, 'a bulk job could not be released; its lease will expire')
      )
    } finally {
      clearTimeout(this.#deadline)
    }
  }

  async #runHandler (): Promise<void> {
    const { job } = this.#claimed
    const { doJob, spool } = this.#parts
    // A job that crashes the process each time never reports an error.
    if (this.#failures >= maxFailures) throw new Failure('INTERNAL_ERROR')
    const { signal } = this.#stopping
    signal.throwIfAborted()
    await doJob({
      job,
      files: spool.getJobFiles(job, () => this.#requireLease()),
      signal,
      save: change => this.#save(change),
      log: this.#log
    })
    signal.throwIfAborted()
  }

  /** Retries while the control plane is unavailable, for as long as the lease lasts. */
  async #save (change: JobChange): Promise<void> {
    const { signal } = this.#stopping
    const { jobs, leaseMs } = this.#parts
    // The final progress of a cancelled job is saved, too.
    if (isCancelled(signal)) await jobs.save(this.#claimed.lease, change, leaseMs)
    for (let tries = 1; ; tries++) {
      signal.throwIfAborted()
      try {
        return await this.#saveOnce(change)
      } catch (error) {
        if (signal.aborted || tries === maxTries || toFailure(error).code !== 'BACKEND_UNAVAILABLE') throw error
        await pause(retryMs, undefined, { signal }).catch(() => {})
      }
    }
  }

  async #saveOnce (change: JobChange): Promise<void> {
    const { jobs, leaseMs } = this.#parts
    const requestedAt = performance.now()
    const saved = await jobs.save(this.#claimed.lease, change, leaseMs)
    // The job store resets its count of failures in the same cases.
    if (change.progress !== undefined || change.checkpoint !== undefined) this.#failures = 0
    if (saved === 'ok') return this.#extendLease(requestedAt)
    this.#interrupt(saved)
    this.#stopping.signal.throwIfAborted()
  }

  /** @returns how long to wait before the next renewal, in milliseconds */
  async #renew (): Promise<number> {
    const { isRevoked, leaseMs } = this.#parts
    if (isRevoked(this.#claimed.job.owner.keyId)) this.#interrupt('revoked')
    if (!this.#stopping.signal.aborted) await this.#saveOnce({}).catch(() => {})
    return leaseMs / 6
  }

  /** Counts from the request, and less than the lease, so that this worker stops before another one starts. */
  #extendLease (since: number): void {
    this.#leasedUntil = since + this.#parts.leaseMs * 0.8
    clearTimeout(this.#deadline)
    this.#deadline = setTimeout(
      () => this.#interrupt('lost'),
      Math.max(0, this.#leasedUntil - performance.now())
    ).unref()
  }

  /** A process that was suspended resumes in the middle of its work, perhaps without the lease. */
  #requireLease (): void {
    if (performance.now() > this.#leasedUntil) this.#interrupt('lost')
    this.#stopping.signal.throwIfAborted()
  }

  #interrupt (why: JobInterrupted['why']): void {
    this.#stopReason ??= why
    this.#stopping.abort(new JobInterrupted(this.#stopReason))
    // Work that does not stop must not retain the job. Deferred, since the first renewal runs before #renewal is set.
    queueMicrotask(() => { this.#renewal.stop().catch(() => {}) })
  }

  async #handleError (error: unknown): Promise<void> {
    const { jobs } = this.#parts
    const { lease } = this.#claimed
    if (this.#stopReason === 'revoked') {
      return await this.#fail(
        new Failure('KEY_REVOKED', {
          message: 'The job was stopped because the key that started it was revoked. Start it again with a valid key.'
        })
      )
    }
    if (this.#stopReason !== undefined) this.#log.info({ why: this.#stopReason }, 'work on a bulk job stopped')
    if (this.#stopReason === 'lost') return
    if (this.#stopReason === 'cancelled') await this.#deleteLeftovers()
    if (this.#stopReason !== undefined) return await jobs.release(lease)
    const failure = toFailure(error)
    if (failure.status < 500 || failure instanceof PermanentFailure || this.#failures + 1 >= maxFailures) {
      return await this.#fail(failure)
    }
    const afterMs = getBackoffMs(pauses, this.#failures)
    this.#log.warn(
      { code: failure.code, err: failure.cause ?? failure, afterMs },
      'a bulk job had a temporary failure and will be retried'
    )
    await jobs.release(lease, { afterMs })
  }

  async #fail ({ code, lastingMessage: message, status, cause }: Failure): Promise<void> {
    this.#log.warn({ code, ...status >= 500 && { err: cause } }, 'a bulk job failed')
    const { jobs, leaseMs } = this.#parts
    const saved = await jobs.save(
      this.#claimed.lease,
      { end: { status: 'failed', failure: { code, message } } },
      leaseMs
    )
    if (saved === 'lost') return
    await this.#deleteLeftovers()
    if (saved === 'cancelled') await jobs.release(this.#claimed.lease)
  }

  async #deleteLeftovers (): Promise<void> {
    await deleteLeftovers(this.#claimed.job, { spool: this.#parts.spool, log: this.#log })
  }
}
