import type Database from 'better-sqlite3'

/**
 * Rows that are changed, at most, before they are put on the disk: until then SQLite keeps what it changes in memory.
 */
const maxGathered = 1_000

/**
 * Writes to an SQLite database that reach the disk together. To put something there takes longer than to change it, and
 * everything else of the process waits for it. The request meanwhile knows of all changes.
 */
export class WriteBuffer {
  readonly #db: Database.Database
  readonly #begin: Database.Statement
  readonly #commit: Database.Statement
  #rows = 0
  #afterwards: Array<(isWritten: boolean) => void> = []

  constructor (db: Database.Database) {
    this.#db = db
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
  }

  /**
   * Does what asks many things and changes none, since changes end the request together. Each alone, SQLite locks the
   * file and looks for a write that was broken off, which takes longer than the asking.
   */
  together<T> (work: () => T): T {
    return this.#db.transaction(work)()
  }

  /** Changes so many rows, all or none of them; they are on the disk after the next {@link commit}. */
  change<T> (rows: number, work: () => T): T {
    if (!this.#db.inTransaction) {
      // After some errors SQLite takes back by itself what was changed before.
      this.#notify(false)
      this.#begin.run()
    }
    const done = this.together(work)
    this.#rows += rows
    if (this.#rows >= maxGathered) this.commit()
    return done
  }

  /** Does something, once, when all that was changed until now is on the disk, or never will be. */
  afterwards (act: (isWritten: boolean) => void): void {
    if (this.#db.inTransaction) this.#afterwards.push(act)
    else act(true)
  }

  /** Puts on the disk what was changed. */
  commit (): void {
    if (!this.#db.inTransaction) return
    this.#commit.run()
    this.#rows = 0
    this.#notify(true)
  }

  /** Gives up what was changed and is not on the disk. */
  end (): void {
    this.#notify(false)
  }

  #notify (isWritten: boolean): void {
    for (const act of this.#afterwards.splice(0)) act(isWritten)
  }
}
