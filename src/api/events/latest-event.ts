import { setTimeout as pause } from 'node:timers/promises'
import type { EventFeed } from '../../events/event.js'

/** How often the control plane is asked while requests wait. */
const everyMs = 500

/** Requests that may wait at a time: of one key, and of all. */
const maxOfKey = 4
const maxOfAll = 1_000

/** The number of the latest event, requested once for all requests that wait for another one. */
export class LatestEvent {
  readonly #feed: Pick<EventFeed, 'latest'>
  readonly #waiting = new Map<string, number>()
  #next: Promise<number> | undefined

  constructor (feed: Pick<EventFeed, 'latest'>) {
    this.#feed = feed
  }

  /** Lets a request of a key wait while `work` runs. @returns undefined if too many wait already */
  async hold<T> (keyId: string, work: () => Promise<T>): Promise<T | undefined> {
    const ofKey = this.#waiting.get(keyId) ?? 0
    const ofAll = [...this.#waiting.values()].reduce((sum, count) => sum + count, 0)
    if (ofKey >= maxOfKey || ofAll >= maxOfAll) return undefined
    this.#waiting.set(keyId, ofKey + 1)
    try {
      return await work()
    } finally {
      const left = this.#waiting.get(keyId)! - 1
      if (left === 0) this.#waiting.delete(keyId)
      else this.#waiting.set(keyId, left)
    }
  }

  /** The number of the latest event, after a short time. @throws what the control plane throws */
  next (): Promise<number> {
    this.#next ??= pause(everyMs).then(() => {
      this.#next = undefined
      return this.#feed.latest()
    })
    return this.#next
  }
}
