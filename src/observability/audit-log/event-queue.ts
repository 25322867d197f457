import { setTimeout as pauseFor } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { FastifyBaseLogger } from 'fastify'
import { getJitteredBackoffMs } from '../../time/backoff.js'
import { toFailure } from '../../envelope/error-handlers.js'
import type { JobOwner } from '../../jobs/model/job.js'
import { BackgroundTask } from '../../time/background-task.js'
import type { AccessEvent, AccessEventOutcome } from '../../tenant-guard/access-events.js'

/** The dependencies of the queue for one datastore; times are in milliseconds. */
export interface EventQueueParts {
  /** The name of the datastore. */
  readonly datastore: string
  /** Stores some of one tenant. @returns the outcome of each @throws for an error, after which they are sent again */
  readonly store: (owner: JobOwner, events: readonly AccessEvent[]) => Promise<readonly AccessEventOutcome[]>
  /** Receives how many were stored, or discarded. */
  readonly onEnded: (outcome: 'stored' | 'unsent', owner: JobOwner, events: number) => void
  /** Called when all that could be sent were sent. */
  readonly onTurn: () => void
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>
  /** AuditEvents that wait in memory, at most. */
  readonly maxWaiting: number
  /** The interval between two sends of the queue. */
  readonly pauseMs: number
  /** Timeout of the last send when the gateway stops. */
  readonly closingMs: number
}

interface QueuedEvent { readonly owner: JobOwner, readonly event: AccessEvent }

/** AuditEvents per transaction. */
const maxTogether = 100
/** Concurrent transactions: few, since the datastore serves the requests of clients first. */
const maxAtOnce = 4
const maxPauseMs = 60_000

/**
 * The queue of AuditEvents for one datastore. Callers that add one never wait: events that the datastore does not
 * accept wait within bounds, and those beyond them are discarded.
 */
export class EventQueue {
  readonly #parts: EventQueueParts
  readonly #limit = pLimit(maxAtOnce)
  readonly #loop: BackgroundTask
  #waiting = new Set<QueuedEvent>()
  #failures = 0
  #isRefused = false

  /** Starts immediately. */
  constructor (parts: EventQueueParts) {
    this.#parts = parts
    this.#loop = new BackgroundTask(stopping => this.#turn(stopping))
  }

  /** Whether the datastore permanently rejected the latest of them. */
  get isRefused (): boolean {
    return this.#isRefused
  }

  get waiting (): number {
    return this.#waiting.size
  }

  add (owner: JobOwner, event: AccessEvent): void {
    if (this.#waiting.size >= this.#parts.maxWaiting) return this.#parts.onEnded('unsent', owner, 1)
    this.#waiting.add({ owner, event })
    if (this.#waiting.size === maxTogether && this.#failures === 0) this.#loop.wake()
  }

  /** Sends the waiting events, once and with a short timeout; the rest is discarded. */
  async close (): Promise<void> {
    const inTime = new AbortController()
    const last = this.#loop.stop().then(() => this.#turn())
    await Promise.race([last, pauseFor(this.#parts.closingMs, undefined, { signal: inTime.signal }).catch(() => {})])
    inTime.abort()
    for (const { owner } of this.#waiting) this.#parts.onEnded('unsent', owner, 1)
    this.#waiting = new Set()
  }

  /** @returns how long to wait afterwards, in milliseconds */
  async #turn (stopping?: AbortSignal): Promise<number> {
    const { pauseMs, onTurn } = this.#parts
    let hasFailed = false
    await Promise.all(splitIntoBatches(this.#waiting).map(part => this.#limit(async () => {
      if (!hasFailed && stopping?.aborted !== true) hasFailed = !await this.#send(part) || hasFailed
    })))
    if (!hasFailed && this.#failures > 0) {
      this.#parts.log.info({ datastore: this.#parts.datastore }, 'AuditEvents can be stored again')
    }
    this.#failures = hasFailed ? this.#failures + 1 : 0
    onTurn()
    return hasFailed ? getJitteredBackoffMs({ firstMs: pauseMs, maxMs: maxPauseMs }, this.#failures) : pauseMs
  }

  /** @returns whether the datastore took any of them, or will never */
  async #send (part: readonly QueuedEvent[]): Promise<boolean> {
    const [{ owner }] = part as readonly [QueuedEvent]
    try {
      const outcomes = await this.#parts.store(owner, part.map(({ event }) => event))
      for (const outcome of ['stored', 'refused'] as const) {
        this.#end(
          outcome,
          part.filter((_, at) => outcomes[at] === outcome)
        )
      }
      this.#putBack(part)
      return outcomes.some(outcome => outcome !== 'again')
    } catch (error) {
      this.#reportError(error)
      this.#putBack(part)
      return false
    }
  }

  /** Moves events to the end: the error may be caused by them, so others are sent first the next time. */
  #putBack (part: readonly QueuedEvent[]): void {
    for (const one of part) if (this.#waiting.delete(one)) this.#waiting.add(one)
  }

  #end (outcome: 'stored' | 'refused', some: readonly QueuedEvent[]): void {
    // Events that were discarded meanwhile are no longer waiting.
    const ended = some.filter(one => this.#waiting.delete(one))
    if (ended.length === 0) return
    this.#isRefused = outcome === 'refused'
    const { datastore, log, onEnded } = this.#parts
    if (outcome === 'refused') {
      log.error({ datastore, events: ended.length }, 'a datastore rejects the AuditEvents of accesses')
    }
    onEnded(outcome === 'stored' ? 'stored' : 'unsent', ended[0]!.owner, ended.length)
  }

  #reportError (error: unknown): void {
    const { datastore, log } = this.#parts
    const { code, cause } = toFailure(error)
    if (this.#failures === 0) {
      log.warn(
        { datastore, code, err: cause, waiting: this.#waiting.size },
        'AuditEvents of accesses are waiting for a datastore'
      )
    }
  }
}

/** The batches, each of one organization and mode, of at most a transaction's size, in order of arrival. */
function splitIntoBatches (waiting: Iterable<QueuedEvent>): QueuedEvent[][] {
  const owned = new Map<string, QueuedEvent[][]>()
  for (const one of waiting) {
    const key = `${one.owner.mode} ${one.owner.tenantId}`
    const parts = owned.get(key) ?? []
    owned.set(key, parts)
    const last = parts.at(-1)
    if (last === undefined || last.length === maxTogether) parts.push([one])
    else last.push(one)
  }
  return [...owned.values()].flat()
}
