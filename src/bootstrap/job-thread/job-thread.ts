import { existsSync } from 'node:fs'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../../config/schema.js'
import type { Environment } from '../../config/environment.js'
import { resolveCompiledModule } from '../../control-plane/outbox/file-writer.js'
import { toMonth } from '../../limits/month.js'
import type { QuotaScope } from '../../limits/usage.js'
import type { MonthlyUsage } from '../../limits/usage-ledger/month-counts.js'
import type { StartedJob, StartJob } from '../../jobs/running-job.js'
import type { ClaimedJob } from '../../jobs/model/job.js'
import type { Metrics } from '../../observability/metrics/measurements.js'
import { withTimeout } from '../../time/with-timeout.js'
import { listDatastoreNames, isSandbox } from '../datastores.js'
import { getJobThreadDirectory } from '../own-config.js'
import { Channel, type Packets } from '../processes/channel.js'

/** The data with which the thread is started. */
export interface ThreadData {
  /** Of the gateway, as this process applies it. */
  readonly config: Config
  /** Of all processes; its data directory has the control database. */
  readonly ofAll: Config
  readonly environment: Environment
  readonly version: string
}

/** The measurements of the thread, which count in the process. */
export const reported = ['exchanged', 'incident', 'storedDifferently', 'workEnded', 'recordsDone'] as const

/** How many requests of a job's organization counted in a month, as the process knows it. */
export interface KnownUsage { readonly month: string, readonly used: number }

interface JobThreadParts extends Pick<ThreadData, 'ofAll' | 'environment' | 'version'> {
  readonly months: Pick<MonthlyUsage, 'countUsed' | 'countElsewhere'>
  readonly now: () => Date
  readonly log: FastifyBaseLogger
  /** Receives what the thread measures; absent where nothing is measured. */
  readonly metrics?: Metrics
  /** Called when a datastore, by its name, returned data of another tenant. */
  readonly onIncident: (datastore: string) => void
}

interface RunningThread { readonly worker: Worker, readonly channel: Channel }

const mebibyte = 1_048_576
/** How long the thread may take to respond to a check. */
const responseMs = 1_000

/**
 * Whether bulk jobs have a thread of their own: not where they need what only the process has, which are a sandbox, and
 * the files that a datastore fetches for its own import; and not where the process has nothing else to do.
 */
export function hasJobThread (config: Config): boolean {
  const { role, bulk: { thread, maxConcurrentJobs, importUrl } } = config
  const hasSandbox = listDatastoreNames(config).some(name => isSandbox(config, name))
  return thread && maxConcurrentJobs > 0 && importUrl === undefined && !hasSandbox && role !== 'worker'
}

/**
 * Runs the bulk jobs of a process in a thread, so that requests need not wait for them. It has files of its own for
 * what it counts and writes down, and is started by the first job; where an earlier one may have left what was not
 * sent, at once. If it ends by itself, leases expire, and its jobs are taken again by a new one.
 */
export class JobThread {
  readonly #config: Config
  readonly #parts: JobThreadParts
  #running: RunningThread | undefined

  constructor (config: Config, parts: JobThreadParts) {
    this.#config = config
    this.#parts = parts
    if (existsSync(getJobThreadDirectory(config.dataDirectory))) this.#ensureChannel()
  }

  readonly startJob: StartJob = (claimed, claimedAt): StartedJob => {
    const channel = this.#ensureChannel()
    const { id } = claimed.job
    return {
      done: this.#run(channel, claimed, claimedAt),
      checkForCancellation: () => channel.notify('look', id),
      stop: () => channel.notify('stop', id)
    }
  }

  /** Whether all that the thread counts and writes down gets to the disk and to the control plane. */
  async isWell (): Promise<boolean> {
    if (this.#running === undefined) return true
    return await withTimeout(this.#running.channel.call<boolean>('isWell'), responseMs, false).catch(() => false)
  }

  /** Ends the thread, after what it has open is closed. */
  async close (): Promise<void> {
    if (this.#running === undefined) return
    const { worker, channel } = this.#running
    const ended = once(worker, 'exit')
    await channel.call('close').catch(() => {})
    await worker.terminate()
    await ended
  }

  async #run (channel: Channel, claimed: ClaimedJob, claimedAt: number): Promise<void> {
    const { months, now } = this.#parts
    const month = toMonth(now().toISOString())
    const known: KnownUsage = { month, used: months.countUsed(claimed.job.owner, month) }
    try {
      // Each thread has a monotonic clock of its own.
      await channel.call('start', claimed, performance.timeOrigin + claimedAt, known)
    } catch (error) {
      this.#parts.log.error({ err: error, job: claimed.job.id }, 'a bulk job lost its thread; its lease will expire')
    }
  }

  #ensureChannel (): Channel {
    const { channel } = (this.#running ??= this.#start())
    return channel
  }

  #start (): RunningThread {
    const { log, metrics, months, onIncident, ofAll, environment, version } = this.#parts
    const data: ThreadData = { config: this.#config, ofAll, environment: { ...environment }, version }
    const worker = new Worker(resolveCompiledModule('bootstrap/job-thread/thread.js'), {
      workerData: data,
      execArgv: [],
      name: 'bulk jobs',
      // A line is parsed, translated and written; several of them at once. The young generation costs memory for good.
      resourceLimits: {
        maxOldGenerationSizeMb: 512 + 8 * Math.ceil(this.#config.bulk.lineBytes / mebibyte),
        maxYoungGenerationSizeMb: 24
      }
    })
    const channel = new Channel(packets => worker.postMessage(packets), {
      measure: (name: typeof reported[number], value: never) => metrics?.[name](value),
      incident: onIncident,
      counted: (pool: QuotaScope, month: string) => months.countElsewhere(pool, month)
    })
    worker.on('message', (packets: Packets) => channel.receive(packets))
    worker.on('error', error => log.error({ err: error }, 'the thread of the bulk jobs failed'))
    worker.once('exit', () => {
      this.#running = undefined
      channel.close()
    })
    return { worker, channel }
  }
}
