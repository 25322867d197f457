import type { FastifyRateLimitStore } from '@fastify/rate-limit'
import { LRUCache } from 'lru-cache'

/** Of more organizations or addresses than this within one window, the oldest begin anew. */
const most = 100_000

interface Window { readonly count: number, readonly endsAt: number }

type Answer = Parameters<FastifyRateLimitStore['incr']>[1]

/** Counts in windows of time, in this process, by the engine's clock: a window would last too long where the wall clock is set back. */
export class Windows implements FastifyRateLimitStore {
  readonly #windows = new LRUCache<string, Window>({ max: most })

  /** Counts one more. */
  incr (key: string, answer: Answer, windowMs: number): void {
    const now = performance.now()
    const { count, endsAt } = this.#open(key, now) ?? { count: 0, endsAt: now + windowMs }
    this.#windows.set(key, { count: count + 1, endsAt })
    answer(null, { current: count + 1, ttl: endsAt - now })
  }

  /** Looks without counting. */
  read (key: string, answer: Answer): void {
    const now = performance.now()
    const { count, endsAt } = this.#open(key, now) ?? { count: 0, endsAt: now }
    answer(null, { current: count, ttl: endsAt - now })
  }

  /** Each limiter has a store of its own already. */
  child (): this {
    return this
  }

  #open (key: string, now: number): Window | undefined {
    const window = this.#windows.get(key)
    return window !== undefined && window.endsAt > now ? window : undefined
  }
}
