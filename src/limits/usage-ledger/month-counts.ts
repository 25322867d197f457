import { LRUCache } from 'lru-cache'
import type { UsageLedger } from './ledger.js'
import type { MonthTotal, QuotaScope } from '../usage.js'

/** A request that was counted in its pool's month. */
export interface QuotaReservation {
  /** How many requests of the pool counted so far, including this one. */
  readonly used: number
  /** Subtracts the request again, if its response does not count. A second call does nothing. */
  readonly refund: () => void
}

interface PoolCounts { own: number, others: number }

/** `ledger` provides the counts of pools that are not cached; `size` is the maximum number of pools in the cache. */
interface MonthCountsOptions { readonly ledger: Pick<UsageLedger, 'getMonthCount'>, readonly size?: number }

/**
 * The requests of each pool in a month: exact for this gateway, and for others as last reported by the control plane.
 * Only recently used pools are in memory; the rest are in the ledger.
 */
export class MonthlyUsage {
  readonly #ledger: MonthCountsOptions['ledger']
  readonly #cache: LRUCache<string, PoolCounts>

  constructor ({ ledger, size = 10_000 }: MonthCountsOptions) {
    this.#ledger = ledger
    this.#cache = new LRUCache({ max: size })
  }

  /** Counts one request in a month such as `2030-01`. */
  take (pool: QuotaScope, month: string): QuotaReservation {
    const held = this.#find(pool, month)
    held.own++
    let isTaken = true
    return {
      get used () { return held.own + held.others },
      refund: () => {
        if (isTaken) held.own--
        isTaken = false
      }
    }
  }

  /** How many requests of a pool counted in a month so far. */
  countUsed (pool: QuotaScope, month: string): number {
    const { own, others } = this.#cache.get(nameOf(pool, month)) ?? this.#ledger.getMonthCount(pool, month)
    return own + others
  }

  /** Counts a request that another part of this gateway has counted, before the control plane reports it. */
  countElsewhere (pool: QuotaScope, month: string): void {
    this.#find(pool, month).others++
  }

  /** Updates the totals of all gateways, once the ledger has stored them. */
  learn (totals: readonly MonthTotal[]): void {
    for (const { month, ...pool } of totals) {
      const held = this.#cache.peek(nameOf(pool, month))
      // What was counted elsewhere may be on its way to the control plane.
      if (held !== undefined) held.others = Math.max(held.others, this.#ledger.getMonthCount(pool, month).others)
    }
  }

  /** Takes over what another part of the gateway knows: how many requests of a pool counted, here and elsewhere. */
  expect (pool: QuotaScope, month: string, used: number): void {
    const held = this.#find(pool, month)
    held.others = Math.max(held.others, used - held.own)
  }

  #find (pool: QuotaScope, month: string): PoolCounts {
    const name = nameOf(pool, month)
    const held = this.#cache.get(name) ?? { ...this.#ledger.getMonthCount(pool, month) }
    this.#cache.set(name, held)
    return held
  }
}

const nameOf = ({ tenantId, mode }: QuotaScope, month: string): string => `${month} ${mode} ${tenantId}`
