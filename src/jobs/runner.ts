import { setTimeout as pause } from 'node:timers/promises'
import { getJitteredBackoffMs } from '../time/backoff.js'
import type { Jobs } from './model/jobs.js'
import { BackgroundTask } from '../time/background-task.js'
import { createJobStarter, type JobStarterParts, type StartedJob, type StartJob } from './running-job.js'
import type { Spool } from './storage/files.js'

/** The parts of a runner. */
export interface RunnerParts extends Omit<JobStarterParts, 'jobs' | 'spool' | 'leaseMs'> {
  readonly jobs: Pick<Jobs, 'claim' | 'save' | 'release'>
  readonly spool: Pick<Spool, 'getJobFiles' | 'deleteExcept' | 'storeId'>
  /** The name of this gateway, for people to read. */
  readonly gateway: string
  readonly maxConcurrentJobs: number
  readonly jobsPerOrganization: number
  /** Runs jobs elsewhere; by default, they run in this thread. */
  readonly startJob?: StartJob | undefined
  /** How long a lease lasts without renewal, in milliseconds. */
  readonly leaseMs?: number
  /** How often to look for jobs that were created elsewhere, in milliseconds. */
  readonly lookMs?: number
}

/** How long a lease lasts without renewal, in milliseconds. */
export const defaultLeaseMs = 30_000
const maxPauseMs = 30_000

/** How long jobs may take to stop when the gateway stops. */
const leavingMs = 10_000

/** Runs the jobs of its spool, a few at a time, until it is closed. */
export class JobRunner {
  readonly #parts: RunnerParts & Required<Pick<RunnerParts, 'leaseMs' | 'lookMs'>>
  readonly #startJob: StartJob
  readonly #running = new Map<string, StartedJob>()
  readonly #loop: BackgroundTask
  #failures = 0

  /** Starts immediately. */
  constructor (parts: RunnerParts) {
    const all = this.#parts = { leaseMs: defaultLeaseMs, lookMs: 2_000, ...parts }
    this.#startJob = parts.startJob ?? createJobStarter(all)
    this.#loop = new BackgroundTask(stopping => this.#turn(stopping))
  }

  /** The number of running jobs. */
  get running (): number {
    return this.#running.size
  }

  /** The number of failed attempts to claim a job since the last success. */
  get failures (): number {
    return this.#failures
  }

  /** Notifies the runner of a new job. */
  wake (): void {
    this.#loop.wake()
  }

  /** Notifies the runner that a job may have been cancelled. */
  checkForCancellation (jobId: string): void {
    this.#running.get(jobId)?.checkForCancellation()
  }

  /** Releases all jobs, so that other gateways can claim them immediately. */
  async close (): Promise<void> {
    await this.#loop.stop()
    const left = [...this.#running.values()]
    for (const running of left) running.stop()
    const all = new AbortController()
    const timeout = pause(leavingMs, undefined, { signal: all.signal }).catch(() => {})
    await Promise.race([Promise.all(left.map(running => running.done)), timeout])
    all.abort()
  }

  /** @returns how long to wait afterwards, in milliseconds */
  async #turn (stopping: AbortSignal): Promise<number> {
    const { lookMs, maxConcurrentJobs, log } = this.#parts
    if (this.#running.size >= maxConcurrentJobs) return lookMs
    try {
      const isTaken = await this.#take(stopping)
      if (this.#failures > 0) log.info('the job queue can be reached again')
      this.#failures = 0
      return isTaken ? 0 : lookMs
    } catch (error) {
      if (this.#failures === 0) log.warn({ err: error }, 'the job queue cannot be reached')
      return getJitteredBackoffMs({ firstMs: lookMs, maxMs: maxPauseMs }, this.#failures++)
    }
  }

  async #take (stopping: AbortSignal): Promise<boolean> {
    const { jobs, spool, gateway, jobsPerOrganization: perTenant, leaseMs } = this.#parts
    const requestedAt = performance.now()
    const claimed = await jobs.claim({ gateway, storeId: spool.storeId, perTenant, leaseMs })
    if (claimed === undefined) return false
    const { job, lease } = claimed
    if (stopping.aborted) {
      await jobs.release(lease)
      return false
    }
    const running = this.#startJob(claimed, requestedAt)
    this.#running.set(job.id, running)
    running.done.then(() => {
      // A lost job may have been claimed again.
      if (this.#running.get(job.id) === running) this.#running.delete(job.id)
      this.#loop.wake()
    })
    return true
  }
}
