import type { LogEntry } from './file.js'

/** Maximum number of entries in one transaction, since the message to the writer blocks this thread briefly. */
const maxAtOnce = 1_000

interface Waiting {
  readonly entry: LogEntry
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Collects entries while earlier ones are being written, and writes them together: one sync of the disk for all
 * requests that wait for it.
 */
export class GroupCommit {
  readonly #write: (entries: readonly LogEntry[]) => Promise<void>
  #waiting: Waiting[] = []
  #isWriting = false

  constructor (write: (entries: readonly LogEntry[]) => Promise<void>) {
    this.#write = write
  }

  /** Resolves when the entry is on disk. Rejects if the transaction that it was in failed. */
  add (entry: LogEntry): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, resolve, reject })
      if (!this.#isWriting) this.#writeAll()
    })
  }

  async #writeAll (): Promise<void> {
    this.#isWriting = true
    // What the same turn of the event loop adds is written together.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const taken = this.#waiting.splice(0, maxAtOnce)
      try {
        await this.#write(taken.map(({ entry }) => entry))
        for (const { resolve } of taken) resolve()
      } catch (error) {
        for (const { reject } of taken) reject(error)
      }
    }
    this.#isWriting = false
  }
}
