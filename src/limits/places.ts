import type { Pool } from './usage.js'

/** Bounds of one pool's requests. `clock` counts milliseconds and never goes back. */
interface PlacesOptions {
  /** Requests that are worked on at a time. */
  readonly places: number
  /** Requests that may wait for a place besides; 32 for each place unless told. */
  readonly mostWaiting?: number
  /** How long a request waits at most. */
  readonly patienceMs?: number
  readonly clock?: () => number
}

/** A request's stay. */
export interface Stay {
  /** Whether it has a place; decided within the patience. */
  readonly isAdmitted: boolean | Promise<boolean>
  /** Ends the stay, the waiting too; the second time does nothing. */
  readonly leave: () => void
}

interface Waiting { readonly until: number, readonly answer: (isAdmitted: boolean) => void }

interface Held { readonly name: string, inFlight: number, hasBegun: boolean, readonly line: Set<Waiting> }

const refused: Stay = { isAdmitted: false, leave: () => {} }
const patienceMs = 30_000
/** Who was the only one for so long need not take turns with anybody. */
const aloneAfterMs = 60_000
const lookEveryMs = 250

/**
 * Which requests are worked on. Each pool has so many places, and while others are here too, one request of it begins in a turn
 * of the event loop; the rest stand in the pool's own line. So a pool with a thousand requests at a time keeps another's waiting
 * for one of them and not for a thousand. Only pools that have a request here take memory.
 */
export class Places {
  readonly #options: Required<PlacesOptions>
  readonly #pools = new Map<string, Held>()
  #latest: string | undefined
  #sharedUntil = -Infinity
  #isTurnDue = false
  #timer: NodeJS.Timeout | undefined

  constructor ({ places, ...more }: PlacesOptions) {
    this.#options = { places, mostWaiting: 32 * places, patienceMs, clock: () => performance.now(), ...more }
  }

  /** How many pools have a request here, or had one a moment ago. */
  get pools (): number {
    return this.#pools.size
  }

  /** Asks for a place; there is none where the line is full, or doesn't get short enough in time. */
  enter (pool: Pool): Stay {
    const held = this.#find(pool)
    if (held.line.size === 0 && this.#hasRoom(held)) return this.#begin(held)
    return held.line.size < this.#options.mostWaiting ? this.#wait(held) : refused
  }

  #find ({ tenantId, mode }: Pool): Held {
    const name = `${mode} ${tenantId}`
    const held = this.#pools.get(name) ?? { name, inFlight: 0, hasBegun: false, line: new Set() }
    this.#pools.set(name, held)
    if (this.#latest !== undefined && name !== this.#latest) this.#sharedUntil = this.#options.clock() + aloneAfterMs
    this.#latest = name
    return held
  }

  #hasRoom ({ inFlight, hasBegun }: Held): boolean {
    return inFlight < this.#options.places && !(hasBegun && this.#options.clock() < this.#sharedUntil)
  }

  #begin (held: Held): Stay {
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

  #wait (held: Held): Stay {
    let stay: Stay | undefined
    let waiting: Waiting
    const isAdmitted = new Promise<boolean>(resolve => {
      waiting = {
        until: this.#options.clock() + this.#options.patienceMs,
        answer: isAdmitted => {
          held.line.delete(waiting)
          stay = isAdmitted ? this.#begin(held) : refused
          resolve(isAdmitted)
        }
      }
      held.line.add(waiting)
    })
    this.#timer ??= setInterval(() => this.#sendAway(), lookEveryMs)
    return { isAdmitted, leave: () => stay === undefined ? waiting.answer(false) : stay.leave() }
  }

  #turnSoon (): void {
    if (this.#isTurnDue) return
    this.#isTurnDue = true
    // What came in meanwhile is read before the next turn.
    setImmediate(() => this.#turn())
  }

  #turn (): void {
    this.#isTurnDue = false
    for (const held of this.#pools.values()) {
      held.hasBegun = false
      for (const first of held.line) {
        if (!this.#hasRoom(held)) break
        first.answer(true)
      }
      if (held.inFlight === 0 && held.line.size === 0) this.#pools.delete(held.name)
    }
  }

  #sendAway (): void {
    const now = this.#options.clock()
    let areWaiting = false
    for (const { line } of this.#pools.values()) {
      for (const waiting of line) if (waiting.until <= now) waiting.answer(false)
      areWaiting ||= line.size > 0
    }
    if (areWaiting) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
