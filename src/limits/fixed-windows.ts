import type { FastifyRateLimitStore } from '@fastify/rate-limit'
import { LRUCache } from 'lru-cache'

/**
 * The maximum number of counts. If there are more organizations or addresses in a window, the oldest start again at
 * zero.
 */
const max = 100_000

interface Window { readonly count: number, readonly endsAt: number }

type RateLimitCallback = Parameters<FastifyRateLimitStore['incr']>[1]

/**
 * Rounded down, since with fractions a window of a minute could seem longer by a rounding error, and be reported as 61
 * seconds.
 */
const readClockMs = (): number => Math.floor(performance.now())

/**
 * Counts in fixed time windows, within this process. It uses the monotonic clock, since a window would last too long if
 * the wall clock were set back.
 */
export class FixedWindowCounter implements FastifyRateLimitStore {
  // Bounded by the sum of sizes: for `max`, the library allocates the memory of all counts at once.
  readonly #windows = new LRUCache<string, Window>({ maxSize: max, sizeCalculation: () => 1 })

  /** Adds one to a count. */
  incr (key: string, callback: RateLimitCallback, windowMs: number): void {
    const now = readClockMs()
    const { count, endsAt } = this.#open(key, now) ?? { count: 0, endsAt: now + windowMs }
    this.#windows.set(key, { count: count + 1, endsAt })
    callback(null, { current: count + 1, ttl: endsAt - now })
  }

  /** Reads a count. */
  read (key: string, callback: RateLimitCallback): void {
    const now = readClockMs()
    const { count, endsAt } = this.#open(key, now) ?? { count: 0, endsAt: now }
    callback(null, { current: count, ttl: endsAt - now })
  }

  /** Returns itself, since each limiter already has its own store. */
  child (): this {
    return this
  }

  #open (key: string, now: number): Window | undefined {
    const window = this.#windows.get(key)
    return window !== undefined && window.endsAt > now ? window : undefined
  }
}
