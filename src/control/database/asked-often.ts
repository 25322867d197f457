import { setTimeout as pause } from 'node:timers/promises'
import type { ChangeSource } from '../changes-heard.js'

const pollMs = 100

/** Asks ten times a second, and so learns what any process on the machine wrote, the CLI for one. */
export class AskedOften implements ChangeSource {
  readonly #ask: () => string | undefined
  readonly #stopping = new AbortController()
  #running = Promise.resolve()

  /** @param ask gives another text after each change; none, or throws, when the database can't say */
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

  /** Undefined when the database can't say; whoever looks then learns why. */
  #latest (): string | undefined {
    try {
      return this.#ask()
    } catch {
      return undefined
    }
  }
}
