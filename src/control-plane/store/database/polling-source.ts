import { setTimeout as pause } from 'node:timers/promises'
import type { ChangeSource } from '../change-notifier.js'

const pollMs = 100

/** Polls ten times a second, and so learns of changes by any process on the machine, such as a command. */
export class PollingChangeSource implements ChangeSource {
  readonly #readPosition: () => string | undefined
  readonly #stopping = new AbortController()
  #running = Promise.resolve()

  /**
   * @param readPosition returns a different text after each change; returns undefined or throws if the database can't
   * respond
   */
  constructor (readPosition: () => string | undefined) {
    this.#readPosition = readPosition
  }

  start (notify: () => void): void {
    this.#running = this.#run(notify)
  }

  async close (): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #run (notify: () => void): Promise<void> {
    const { signal } = this.#stopping
    let known: string | undefined
    while (!signal.aborted) {
      const found = this.#latest()
      if (found === undefined || found !== known) notify()
      known = found
      await pause(pollMs, undefined, { signal }).catch(() => {})
    }
  }

  /** Undefined if the database can't respond. A caller that reads then gets the reason. */
  #latest (): string | undefined {
    try {
      return this.#readPosition()
    } catch {
      return undefined
    }
  }
}
