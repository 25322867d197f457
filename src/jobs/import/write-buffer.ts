import Database from 'better-sqlite3'

/** How long to wait for a lock on the file, held by a hanging gateway that had the job before. */
const maxLockMs = 1_000

/** Opens an SQLite file of a job. */
export function openDatabase (path: string, schema: string): Database.Database {
  // Waiting for another gateway's lock blocks the full process.
  const db = new Database(path, { timeout: maxLockMs })
  // Each changed page is written separately, and names are spread over the file.
  db.pragma('page_size = 8192')
  // Not WAL, whose shared memory does not work between gateways on several machines.
  db.pragma('journal_mode = PERSIST')
  db.pragma('synchronous = FULL')
  db.pragma('cache_size = -4096')
  db.exec(schema)
  return db
}

/** Maximum number of changed rows before a commit: until then SQLite holds the changes in memory. */
const maxGathered = 1_000

/**
 * Buffers writes to an SQLite database and commits them together. A commit takes longer than a change, and blocks
 * everything else in the process. Queries see all changes, committed or not.
 */
export class WriteBuffer {
  readonly #db: Database.Database
  readonly #begin: Database.Statement
  readonly #commit: Database.Statement
  #rows = 0
  #commitListeners: Array<(isWritten: boolean) => void> = []

  constructor (db: Database.Database) {
    this.#db = db
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
  }

  /**
   * Runs many queries and no changes in one transaction, which the changes would end. Outside one, SQLite locks the
   * file and looks for an interrupted write at each query, which takes longer than the query.
   */
  runInTransaction<T> (work: () => T): T {
    return this.#db.transaction(work)()
  }

  /** Changes so many rows, all or none of them; the next {@link commit} writes them to disk. */
  change<T> (rows: number, work: () => T): T {
    if (!this.#db.inTransaction) {
      // After some errors SQLite itself rolls back the earlier changes.
      this.#notify(false)
      this.#begin.run()
    }
    const done = this.runInTransaction(work)
    this.#rows += rows
    if (this.#rows >= maxGathered) this.commit()
    return done
  }

  /** Calls a function once all changes until now are on disk, or are certain never to be. */
  onCommit (act: (isWritten: boolean) => void): void {
    if (this.#db.inTransaction) this.#commitListeners.push(act)
    else act(true)
  }

  /** Writes all changes to disk. */
  commit (): void {
    if (!this.#db.inTransaction) return
    this.#commit.run()
    this.#rows = 0
    this.#notify(true)
  }

  /** Drops the changes that are not on disk. */
  end (): void {
    this.#notify(false)
  }

  #notify (isWritten: boolean): void {
    for (const act of this.#commitListeners.splice(0)) act(isWritten)
  }
}
