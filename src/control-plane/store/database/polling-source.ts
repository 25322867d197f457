import { setTimeout as pause } from 'node:timers/promises'
import type { ChangeSource } from '../change-notifier.js'

const pollMs = 100

/** Polls ten times a second, and so learns of changes by any process on the machine, such as a command. */
export class PollingChangeSource implements ChangeSource {
  readonly #ask: () => string | undefined
  readonly #stopping = new AbortController()
  #running = Promise.resolve()

  /** @param ask returns a different text after each change; returns undefined or throws if the database can't answer */
  constructor (ask: () => string | undefined) {
    this.#ask = ask
  }

  start (tell: () => void): void {
    this.#running = this.#run(tell)
  }

  async close (): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #run (tell: () => void): Promise<void> {
    const { signal } = this.#stopping
    let known: string | undefined
    while (!signal.aborted) {
      const found = this.#latest()
      if (found === undefined || found !== known) tell()
      known = found
      await pause(pollMs, undefined, { signal }).catch(() => {})
    }
  }

  /** Undefined if the database can't answer. A caller that reads then gets the reason. */
  #latest (): string | undefined {
    try {
      return this.#ask()
    } catch {
      return undefined
    }
  }
}
