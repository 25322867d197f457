import type { JobOwner } from '../../jobs/model/job.js'
import type { AccessEvent } from '../../tenant-guard/access-events.js'
import type { AuditBacklogEntry } from './entry.js'
import { EventQueue, type EventQueueParts } from './event-queue.js'

/** The dependencies of the AuditEvents of all datastores. */
export interface AuditEventsParts
  extends
  Pick<EventQueueParts, 'store' | 'log'>,
  Partial<Pick<EventQueueParts, 'maxWaiting' | 'pauseMs' | 'closingMs'>> {
  /** The name of an organization's datastore; undefined where it has none. */
  readonly datastoreOf: (owner: JobOwner) => string | undefined
  /** Writes a line with the number of discarded AuditEvents. */
  readonly reportUnsent: (unsent: AuditBacklogEntry) => Promise<void>
  readonly now: () => Date
}

/** The AuditEvents stored and discarded since the start, and the number waiting. */
interface AuditEventCounts { readonly stored: number, readonly unsent: number, readonly waiting: number }

/**
 * AuditEvents for the datastores of the tenants whose accesses they record, with a queue per datastore. The access
 * audit log is complete without them, so nothing waits for them; the number of discarded ones is a line of the log.
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

  /** The datastores that permanently rejected the latest AuditEvents, by name. */
  get refusing (): readonly string[] {
    return [...this.#queues].filter(([, { isRefused }]) => isRefused).map(([datastore]) => datastore)
  }

  /**
   * Queues one. An event that arrives after the gateway has stopped, because the disk did not accept its line before,
   * is counted as discarded.
   */
  add (owner: JobOwner, event: AccessEvent): void {
    const datastore = this.#parts.datastoreOf(owner)
    if (datastore !== undefined && !this.#isClosed) return this.#getQueue(datastore).add(owner, event)
    this.#end('unsent', owner, 1)
    this.#reportUnsent()
  }

  /** Sends the waiting events, and records how many could not be sent. */
  async close (): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#queues.values()].map(queue => queue.close()))
    await this.#reportUnsent()
  }

  #getQueue (datastore: string): EventQueue {
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
    // A line that the disk does not accept now waits in the log, or the log counts it as discarded.
    await Promise.all(
      unreported.map(({ owner: { tenantId, mode }, records }) =>
        this.#parts.reportUnsent({ time, tenantId, mode, action: 'unsent', records }).catch(() => {})
      )
    )
  }
}
