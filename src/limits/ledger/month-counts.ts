import { LRUCache } from 'lru-cache'
import type { UsageLedger } from './ledger.js'
import type { MonthTotal, Pool } from '../usage.js'

/** A request's place in its pool's month. */
export interface Taken {
  /** How many requests of the pool have counted by now, this one included until it is given back. */
  readonly used: number
  /** Takes the request out again, since its answer doesn't count; the second time does nothing. */
  readonly giveBack: () => void
}

interface Held { own: number, others: number }

/** What the counts are read from when a pool is first asked for, or again after a long time. */
interface MonthCountsOptions { readonly ledger: Pick<UsageLedger, 'monthOf'>, readonly size?: number }

/**
 * How many requests of each pool counted in the month: those of this gateway exactly, those of others as the control plane last
 * told. Pools that were not asked for lately are only in the ledger, so memory does not grow with their number.
 */
export class MonthCounts {
  readonly #ledger: MonthCountsOptions['ledger']
  readonly #held: LRUCache<string, Held>

  constructor ({ ledger, size = 10_000 }: MonthCountsOptions) {
    this.#ledger = ledger
    this.#held = new LRUCache({ max: size })
  }

  /** Counts one request more in a month such as `2030-01`. */
  take (pool: Pool, month: string): Taken {
    const held = this.#find(pool, month)
    held.own++
    let isTaken = true
    return {
      get used () { return held.own + held.others },
      giveBack: () => {
        if (isTaken) held.own--
        isTaken = false
      }
    }
  }

  /** How many requests of a pool have counted in a month by now. */
  used (pool: Pool, month: string): number {
    const { own, others } = this.#held.get(nameOf(pool, month)) ?? this.#ledger.monthOf(pool, month)
    return own + others
  }

  /** Learns what all gateways together counted, once the ledger has noted it down. */
  learn (totals: readonly MonthTotal[]): void {
    for (const { month, ...pool } of totals) {
      const held = this.#held.peek(nameOf(pool, month))
      if (held !== undefined) held.others = this.#ledger.monthOf(pool, month).others
    }
  }

  #find (pool: Pool, month: string): Held {
    const name = nameOf(pool, month)
    const held = this.#held.get(name) ?? { ...this.#ledger.monthOf(pool, month) }
    this.#held.set(name, held)
    return held
  }
}

const nameOf = ({ tenantId, mode }: Pool, month: string): string => `${month} ${mode} ${tenantId}`
