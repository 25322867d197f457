import type { QuotaScope } from './usage.js'

/** The limits of each pool. `clock` is monotonic, in milliseconds. */
interface ConcurrencyOptions {
  /** The maximum number of concurrent requests. */
  readonly permits: number
  /** The maximum number of requests that wait for a permit. The default is 32 per permit. */
  readonly maxWaiting?: number
  /** The maximum time that a request waits, in milliseconds. */
  readonly timeoutMs?: number
  readonly clock?: () => number
}

/** A request that has a permit or waits for one. */
export interface Permit {
  /** Whether it has a permit. Decided within `timeoutMs`. */
  readonly isAdmitted: boolean | Promise<boolean>
  /** Releases the permit, or stops waiting. A second call does nothing. */
  readonly leave: () => void
}

interface QueuedRequest { readonly until: number, readonly settle: (isAdmitted: boolean) => void }

interface Pool { readonly name: string, inFlight: number, hasBegun: boolean, readonly queue: Set<QueuedRequest> }

const refused: Permit = { isAdmitted: false, leave: () => {} }
const timeoutMs = 30_000
/** A pool that has been the only active one for this long is not limited to one start per turn. */
const aloneAfterMs = 60_000
const lookEveryMs = 250

/**
 * Decides which requests may run. Each pool has a number of permits. While several pools are active, one request of
 * each starts per turn of the event loop, and the rest wait in the pool's own queue. A pool with a thousand concurrent
 * requests thus delays a request of another pool by one request, not by a thousand. Only pools with requests take
 * memory.
 */
export class FairConcurrencyLimiter {
  readonly #options: Required<ConcurrencyOptions>
  readonly #pools = new Map<string, Pool>()
  #latest: string | undefined
  #sharedUntil = -Infinity
  #isTurnDue = false
  #timer: NodeJS.Timeout | undefined

  constructor ({ permits, ...more }: ConcurrencyOptions) {
    this.#options = { permits, maxWaiting: 32 * permits, timeoutMs, clock: () => performance.now(), ...more }
  }

  /** The number of pools that have requests, or had some until just now. */
  get pools (): number {
    return this.#pools.size
  }

  /** Requests a permit. It is refused if the queue is full, or does not move fast enough. */
  acquire (pool: QuotaScope): Permit {
    const held = this.#find(pool)
    if (held.queue.size === 0 && this.#hasRoom(held)) return this.#begin(held)
    return held.queue.size < this.#options.maxWaiting ? this.#wait(held) : refused
  }

  #find ({ tenantId, mode }: QuotaScope): Pool {
    const name = `${mode} ${tenantId}`
    const held = this.#pools.get(name) ?? { name, inFlight: 0, hasBegun: false, queue: new Set() }
    this.#pools.set(name, held)
    if (this.#latest !== undefined && name !== this.#latest) this.#sharedUntil = this.#options.clock() + aloneAfterMs
    this.#latest = name
    return held
  }

  #hasRoom ({ inFlight, hasBegun }: Pool): boolean {
    return inFlight < this.#options.permits && !(hasBegun && this.#options.clock() < this.#sharedUntil)
  }

  #begin (held: Pool): Permit {
    held.inFlight++
    held.hasBegun = true
    this.#turnSoon()
    let isHere = true
    return {
      isAdmitted: true,
      leave: () => {
        if (!isHere) return
        isHere = false
        held.inFlight--
        this.#turnSoon()
      }
    }
  }

  #wait (held: Pool): Permit {
    let permit: Permit | undefined
    let waiting: QueuedRequest
    const isAdmitted = new Promise<boolean>(resolve => {
      waiting = {
        until: this.#options.clock() + this.#options.timeoutMs,
        settle: isAdmitted => {
          held.queue.delete(waiting)
          permit = isAdmitted ? this.#begin(held) : refused
          resolve(isAdmitted)
        }
      }
      held.queue.add(waiting)
    })
    this.#timer ??= setInterval(() => this.rejectExpired(), lookEveryMs)
    return { isAdmitted, leave: () => permit === undefined ? waiting.settle(false) : permit.leave() }
  }

  #turnSoon (): void {
    if (this.#isTurnDue) return
    this.#isTurnDue = true
    // Requests that arrived in the meantime are read before the next turn.
    setImmediate(() => this.#turn())
  }

  #turn (): void {
    this.#isTurnDue = false
    for (const held of this.#pools.values()) {
      held.hasBegun = false
      for (const first of held.queue) {
        if (!this.#hasRoom(held)) break
        first.settle(true)
      }
      if (held.inFlight === 0 && held.queue.size === 0) this.#pools.delete(held.name)
    }
  }

  rejectExpired (): void {
    const now = this.#options.clock()
    let areWaiting = false
    for (const { queue: line } of this.#pools.values()) {
      for (const waiting of line) if (waiting.until <= now) waiting.settle(false)
      areWaiting ||= line.size > 0
    }
    if (areWaiting) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
