import type { FastifyBaseLogger } from 'fastify'
import { getJitteredBackoffMs } from '../time/backoff.js'
import { BackgroundTask } from '../time/background-task.js'
import type { KeyCache } from './cache.js'
import type { Batch, ChangeFeed } from './change-feed.js'
import type { Replica } from './replica.js'

const pauses = { firstMs: 100, maxMs: 5_000 }

/** The parts of a follower; `now` is the wall clock. */
interface FollowerParts {
  readonly feed: ChangeFeed
  readonly replica: Replica
  readonly cache: KeyCache
  readonly now: () => Date
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn'>
  /** Called for each batch with changes once it is applied. */
  readonly onApplied?: (batch: Batch) => void
}

/**
 * Applies every change of the control plane to the copy and evicts it from the cache, with retries after any failure of
 * the feed, until it is stopped.
 */
export class Follower {
  readonly #parts: FollowerParts
  readonly #loop: BackgroundTask
  #resolveCaughtUp = () => {}
  #failures = 0
  #isConnected = false

  /** Resolves when the copy is first complete after the start; not before the feed can be reached. */
  readonly caughtUp = new Promise<void>(resolve => { this.#resolveCaughtUp = resolve })

  /** Starts immediately. */
  constructor (parts: FollowerParts) {
    this.#parts = parts
    this.#loop = new BackgroundTask(stopping => this.#turn(stopping))
  }

  /** Whether the feed has sent a batch since it last failed. */
  get isConnected (): boolean {
    return this.#isConnected
  }

  /** Stops following; afterwards the copy may be closed. */
  stop (): Promise<void> {
    return this.#loop.stop()
  }

  async #turn (stopping: AbortSignal): Promise<number> {
    try {
      await this.#follow(stopping)
    } catch (error) {
      if (!stopping.aborted) {
        this.#parts.log.warn(
          { err: error, failures: this.#failures },
          'the key change feed failed; keys are validated against the local copy'
        )
      }
    }
    this.#isConnected = false
    return getJitteredBackoffMs(pauses, this.#failures++)
  }

  async #follow (signal: AbortSignal): Promise<void> {
    const { feed, replica, cache, now, log, onApplied } = this.#parts
    for await (const batch of feed.follow(replica.readPosition(), signal)) {
      cache.evict(replica.apply(batch, now()))
      if (batch.isSnapshot || batch.changes.length > 0) onApplied?.(batch)
      if (this.#failures > 0) log.info('the key change feed works again')
      this.#failures = 0
      this.#isConnected = true
      if (batch.isLatest) this.#resolveCaughtUp()
    }
  }
}
