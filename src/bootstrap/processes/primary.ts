import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import { ensureCursorSecret, readRedisUrl } from '../../config/secrets.js'
import type { Environment } from '../../config/environment.js'
import type { Config } from '../../config/schema.js'
import { ensureDirectory } from '../../files/ensure.js'
import { RequestFile } from '../../idempotency/request-file.js'
import { getBackoffMs } from '../../time/backoff.js'
import { Disposables } from '../parts.js'
import { withListenRemedy, openDataFile } from '../startup-errors.js'
import { Channel, type Packets } from './channel.js'
import type { Joined } from './member.js'
import { SharedState } from './shared-state.js'

/** How long a process that ended is left, and how long one must run for its earlier failures to be forgotten. */
const pauses = { firstMs: 250, maxMs: 30_000 }
const healthyMs = 60_000

interface PrimaryParts {
  readonly environment: Environment
  readonly version: string
  readonly now: () => Date
  readonly log: FastifyBaseLogger
}

/** The processes of a gateway, which run until they are stopped. */
export interface ProcessGroup {
  /** Rejects if a process cannot start the first time; it has printed the reason on standard error. */
  readonly started: Promise<void>
  /** Lets all processes respond to what they have, and end; after `timeoutMs` they are killed. */
  readonly stop: (timeoutMs: number) => Promise<void>
}

/** Started without success. Its reason was printed by the process that failed. */
class ProcessFailed extends Error {
  override readonly name = 'ProcessFailed'
}

/** Opens what the processes have in common, and starts them, the first one first. */
export async function startProcesses (config: Config, parts: PrimaryParts): Promise<ProcessGroup> {
  const closers = new Disposables()
  await requireFreePort(config)
  ensureDirectory(config.dataDirectory)
  // Made once, before several processes look for it.
  ensureCursorSecret(config)
  try {
    const requests = readRedisUrl(config, parts.environment) === undefined
      ? closers.add(await openDataFile(join(config.dataDirectory, 'idempotency.db'), file =>
        new RequestFile({ file, now: parts.now })))
      : undefined
    const shared = new SharedState({ permits: config.limits.inFlightPerOrganization, ...requests && { requests } })
    const metrics = await openMetricsOfAll(config, parts, closers)
    return new Primary(config, { ...parts, shared, metrics, closers })
  } catch (error) {
    await closers.close()
    throw error
  }
}

/** Where processes share a port, the system would let it be shared with those of another gateway as well. */
async function requireFreePort ({ host, port }: Config): Promise<void> {
  const server = createServer().listen({ host, port })
  await withListenRemedy(once(server, 'listening'))
  server.close()
  await once(server, 'close')
}

type MetricsOfAll = InstanceType<typeof import('./metrics-of-all.js').MetricsOfAll>

async function openMetricsOfAll (
  { metrics: { port, host } }: Config, { log }: PrimaryParts, closers: Disposables
): Promise<MetricsOfAll | undefined> {
  if (port === undefined) return undefined
  const { MetricsOfAll } = await import('./metrics-of-all.js')
  const { startMetricsServer } = await import('../../observability/metrics/listener.js')
  const metrics = new MetricsOfAll()
  closers.add(await startMetricsServer(metrics, { host, port }))
  log.info({ host, port }, 'metrics are served at /metrics')
  return metrics
}

interface PrimaryContext extends PrimaryParts {
  readonly shared: SharedState
  readonly metrics: MetricsOfAll | undefined
  readonly closers: Disposables
}

/** One of the processes, from one start of it to its end. */
interface Running {
  readonly worker: Worker
  readonly channel: Channel
  hasStarted: boolean
  isReady: boolean
}

/** Starts the processes again when they end, and knows how many can serve. */
class Primary implements ProcessGroup {
  readonly started: Promise<void>
  readonly #config: Config
  readonly #parts: PrimaryContext
  /** By number. */
  readonly #running = new Map<number, Running>()
  readonly #failures = new Map<number, number>()
  readonly #restarts = new Set<NodeJS.Timeout>()
  #port: number | undefined
  #isStopping = false

  constructor (config: Config, parts: PrimaryContext) {
    this.#config = config
    this.#parts = parts
    cluster.setupPrimary({ serialization: 'json' })
    this.started = this.#startAll()
  }

  async stop (timeoutMs: number): Promise<void> {
    this.#isStopping = true
    for (const restart of this.#restarts) clearTimeout(restart)
    const ends = [...this.#running.values()].map(async ({ worker, channel }) => {
      const ended = once(worker, 'exit')
      channel.notify('stop')
      const timer = setTimeout(() => worker.process.kill('SIGKILL'), timeoutMs)
      await ended
      clearTimeout(timer)
    })
    await Promise.all(ends)
    await this.#parts.closers.close()
  }

  async #startAll (): Promise<void> {
    // The first one makes what all of them open.
    await this.#start(1)
    const others = Array.from({ length: this.#config.processes - 1 }, (_, i) => this.#start(i + 2))
    await Promise.all(others)
  }

  /** Resolves when the process serves, and rejects if it ends before that. */
  #start (number: number): Promise<void> {
    const worker = cluster.fork()
    const startedAt = performance.now()
    const { handlers, end } = this.#parts.shared.serve()
    return new Promise((resolve, reject) => {
      const channel: Channel = new Channel(packets => worker.send(packets, () => {}), {
        ...handlers,
        join: (version: string) => this.#join(number, version),
        started: (port: number) => {
          this.#port = port
          running.hasStarted = true
          resolve()
          this.#notifyState()
        },
        ready: (isReady: boolean) => {
          running.isReady = isReady
          this.#notifyState()
        }
      })
      const running: Running = { worker, channel, hasStarted: false, isReady: true }
      this.#running.set(number, running)
      const measured = { metrics: () => channel.call<never>('metrics') }
      this.#parts.metrics?.add(measured)
      worker.on('message', (packets: Packets) => channel.receive(packets))
      worker.once('exit', (code, signal) => {
        channel.close()
        end()
        this.#running.delete(number)
        this.#parts.metrics?.remove(measured)
        if (this.#isStopping || !running.hasStarted) reject(new ProcessFailed(`process ${number} could not be started`))
        if (running.hasStarted || this.#failures.has(number)) this.#handleExit(number, { code, signal, startedAt })
      })
    })
  }

  #join (number: number, version: string): Joined {
    if (version !== this.#parts.version) {
      throw new Error('this process is of another version than the first one; restart all of them')
    }
    return {
      number,
      of: this.#config.processes,
      isRestarted: this.#failures.has(number),
      ...this.#port !== undefined && { port: this.#port }
    }
  }

  #handleExit (
    number: number,
    { startedAt, ...how }: { readonly code: number, readonly signal: string, readonly startedAt: number }
  ): void {
    this.#notifyState()
    if (this.#isStopping) return
    const failures = performance.now() - startedAt >= healthyMs ? 0 : this.#failures.get(number) ?? 0
    this.#failures.set(number, failures + 1)
    const pauseMs = getBackoffMs(pauses, failures)
    this.#parts.log.error({ process: number, ...how, pauseMs }, 'a process ended, and is started again after a pause')
    const restart = setTimeout(() => {
      this.#restarts.delete(restart)
      this.#start(number).catch(() => {})
    }, pauseMs)
    this.#restarts.add(restart)
  }

  #notifyState (): void {
    const serving = [...this.#running.values()].filter(({ hasStarted }) => hasStarted)
    const state = {
      running: serving.length,
      of: this.#config.processes,
      areReady: serving.every(({ isReady }) => isReady)
    }
    for (const { channel } of serving) channel.notify('state', state)
  }
}
