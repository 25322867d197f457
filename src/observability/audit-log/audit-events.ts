import type { JobOwner } from '../../jobs/model/job.js'
import type { AccessEvent } from '../../tenant-guard/access-events.js'
import type { AuditBacklogEntry } from './entry.js'
import { EventQueue, type EventQueueParts } from './event-queue.js'

/** What the AuditEvents of all datastores need. */
export interface AuditEventsParts
  extends
  Pick<EventQueueParts, 'store' | 'log'>,
  Partial<Pick<EventQueueParts, 'maxWaiting' | 'pauseMs' | 'closingMs'>> {
  /** The name of an organization's datastore; undefined where it has none. */
  readonly datastoreOf: (owner: JobOwner) => string | undefined
  /** Writes a line that says how many were given up. */
  readonly reportUnsent: (unsent: AuditBacklogEntry) => Promise<void>
  readonly now: () => Date
}

/** What became of AuditEvents since the start, and how many wait. */
interface AuditEventCounts { readonly stored: number, readonly unsent: number, readonly waiting: number }

/**
 * AuditEvents on their way to the datastores of those whose accesses they tell of, each datastore for itself. The
 * access audit log is complete without them, so nothing waits for them; how many were given up is a line of the log.
 */
export class AuditEvents {
  readonly #parts: Required<AuditEventsParts>
  readonly #queues = new Map<string, EventQueue>()
  readonly #totals = { stored: 0, unsent: 0 }
  #isClosed = false
  #unreported = new Map<string, { readonly owner: JobOwner, records: number }>()

  constructor (parts: AuditEventsParts) {
    this.#parts = { maxWaiting: 10_000, pauseMs: 1_000, closingMs: 5_000, ...parts }
  }

  get counts (): AuditEventCounts {
    return { ...this.#totals, waiting: [...this.#queues.values()].reduce((sum, { waiting }) => sum + waiting, 0) }
  }

  /** The datastores that rejected the latest AuditEvents for good, by name. */
  get refusing (): readonly string[] {
    return [...this.#queues].filter(([, { isRefused }]) => isRefused).map(([datastore]) => datastore)
  }

  /**
   * Sends one soon. What comes when the gateway has stopped, because the disk did not take its line before, is told as
   * given up.
   */
  add (owner: JobOwner, event: AccessEvent): void {
    const datastore = this.#parts.datastoreOf(owner)
    if (datastore !== undefined && !this.#isClosed) return this.#queueOf(datastore).add(owner, event)
    this.#end('unsent', owner, 1)
    this.#reportUnsent()
  }

  /** Sends what waits, and writes down how many could not be sent. */
  async close (): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#queues.values()].map(queue => queue.close()))
    await this.#reportUnsent()
  }

  #queueOf (datastore: string): EventQueue {
    const { store, log, maxWaiting, pauseMs, closingMs } = this.#parts
    const queue = this.#queues.get(datastore) ?? new EventQueue({
      datastore,
      store,
      log,
      maxWaiting,
      pauseMs,
      closingMs,
      onEnded: (...ended) => this.#end(...ended),
      onTurn: () => { this.#reportUnsent() }
    })
    this.#queues.set(datastore, queue)
    return queue
  }

  #end (outcome: 'stored' | 'unsent', owner: JobOwner, events: number): void {
    this.#totals[outcome] += events
    if (outcome === 'stored') return
    const key = `${owner.mode} ${owner.tenantId}`
    this.#unreported.set(key, { owner, records: (this.#unreported.get(key)?.records ?? 0) + events })
  }

  /** Never throws. */
  async #reportUnsent (): Promise<void> {
    const unreported = [...this.#unreported.values()]
    this.#unreported = new Map()
    const time = this.#parts.now().toISOString()
    // A line that the disk does not take now waits in the log for it, or is told there as given up.
    await Promise.all(
      unreported.map(({ owner: { tenantId, mode }, records }) =>
        this.#parts.reportUnsent({ time, tenantId, mode, action: 'unsent', records }).catch(() => {})
      )
    )
  }
}
