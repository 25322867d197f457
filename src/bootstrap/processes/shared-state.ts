import type { Intent, RequestStorage, Result } from '../../idempotency/keyed-requests.js'
import { FairConcurrencyLimiter, type Permit } from '../../limits/concurrency-limiter.js'
import { FixedWindowCounter } from '../../limits/fixed-windows.js'
import type { QuotaScope } from '../../limits/usage.js'
import type { Handlers } from './channel.js'

/** The counters of time windows: requests of organizations, attempts without a key, and attempts with a password. */
export type WindowName = 'requests' | 'attempts' | 'signIns'

/** A count of a window, as the rate limiter takes it. */
export interface WindowCount { readonly current: number, readonly ttl: number }

/**
 * How long requests with an Idempotency-Key of a process that ended stay claimed: what it sent to a datastore may still
 * take effect there.
 */
const orphanedMs = 10_000

interface SharedStateOptions {
  /** Concurrent requests of an organization. */
  readonly permits: number
  /** Absent where requests with an Idempotency-Key are on Redis. */
  readonly requests?: RequestStorage
  readonly orphanedMs?: number
}

/** The state that the processes of a gateway share, in the memory and the file of the first one. */
export class SharedState {
  readonly #options: SharedStateOptions
  readonly #concurrency: FairConcurrencyLimiter
  readonly #windows: Readonly<Record<WindowName, FixedWindowCounter>> = {
    requests: new FixedWindowCounter(), attempts: new FixedWindowCounter(), signIns: new FixedWindowCounter()
  }

  constructor (options: SharedStateOptions) {
    this.#options = options
    this.#concurrency = new FairConcurrencyLimiter({ permits: options.permits })
  }

  /**
   * The functions that one process may call, and one that releases all that it holds, to be called when it has ended.
   */
  serve (): { readonly handlers: Handlers, readonly end: () => void } {
    const permits = new Map<number, Permit>()
    const claims = new Set<string>()
    return {
      handlers: {
        ...this.#createWindowHandlers(),
        ...this.#createPermitHandlers(permits),
        ...this.#options.requests && createRequestHandlers(this.#options.requests, claims)
      },
      end: () => {
        for (const permit of permits.values()) permit.leave()
        const { requests, orphanedMs: ms = orphanedMs } = this.#options
        setTimeout(() => {
          for (const name of claims) requests?.release(name).catch(() => {})
        }, ms).unref()
      }
    }
  }

  #createWindowHandlers (): Handlers {
    const callCounter = (count: (done: (error: Error | null, result?: WindowCount) => void) => void): WindowCount => {
      let counted: WindowCount | undefined
      // The counter calls back at once.
      count((_, result) => { counted = result })
      return counted!
    }
    return {
      count: (name: WindowName, key: string, windowMs: number) =>
        callCounter(done => this.#windows[name].incr(key, done, windowMs)),
      readCount: (name: WindowName, key: string) => callCounter(done => this.#windows[name].read(key, done))
    }
  }

  #createPermitHandlers (permits: Map<number, Permit>): Handlers {
    return {
      acquire: (id: number, pool: QuotaScope) => {
        const permit = this.#concurrency.acquire(pool)
        permits.set(id, permit)
        return permit.isAdmitted
      },
      leave: (id: number) => {
        permits.get(id)?.leave()
        permits.delete(id)
      }
    }
  }
}

/** `now` comes as milliseconds, and what the storage fails with is of no use elsewhere. */
function createRequestHandlers (requests: RequestStorage, claims: Set<string>): Handlers {
  return {
    claim: async (name: string, fingerprint: string, now: number) => {
      const claimed = await requests.claim({ name, fingerprint, now: new Date(now) })
      if (typeof claimed === 'string') return claimed
      claims.add(name)
      return { ...claimed, firstSeenAt: claimed.firstSeenAt.getTime() }
    },
    intend: (name: string, intent: Intent | null) =>
      claims.has(name) && requests.intend(name, intent ?? undefined),
    finish: (name: string, result: Result) => requests.finish(name, result),
    release: async (name: string) => {
      claims.delete(name)
      await requests.release(name)
    }
  } satisfies Record<string, (...args: never[]) => Promise<unknown> | false>
}
