import { setTimeout as pause } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { ChangeSource } from '../changes-heard.js'
import type { Tables } from '../tables.js'

const pollMs = 100

/** Asks for one row ten times a second, and so learns what any process on the machine wrote, the CLI for one. */
export class AskedOften implements ChangeSource {
  readonly #db: Kysely<Tables>
  readonly #stopping = new AbortController()
  #running = Promise.resolve()

  constructor (db: Kysely<Tables>) {
    this.#db = db
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
      const found = await this.#latest()
      if (found === undefined || found !== known) tell()
      known = found
      await pause(pollMs, undefined, { signal }).catch(() => {})
    }
  }

  /** Undefined when the database can't say; whoever looks then learns why. */
  async #latest (): Promise<string | undefined> {
    try {
      const { feedId, seq } = await this.#db.selectFrom('feed').select(['feedId', 'seq']).executeTakeFirstOrThrow()
      return `${feedId}:${seq}`
    } catch {
      return undefined
    }
  }
}
