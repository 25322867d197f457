import { dirname } from 'node:path'
import SQLite from 'better-sqlite3'
import { CamelCasePlugin, Kysely, SqliteDialect, type SqliteDatabase } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { ChangeSource } from '../change-notifier.js'
import { ensureDirectory } from '../../../files/ensure.js'
import { ensurePrivateDatabase, withFileName } from '../../../files/open-sqlite.js'
import { BackgroundTask } from '../../../time/background-task.js'
import { DatabaseUnavailable } from '../control-error.js'
import type { Tables } from '../tables.js'
import { migrate, type Engine } from './engine.js'

const pollMs = 100

/** Polls ten times a second, and so learns of changes by any process on the machine, such as a command. */
class PollingChangeSource implements ChangeSource {
  readonly #readPosition: () => string | undefined
  #polling: BackgroundTask | undefined

  /**
   * @param readPosition returns a different text after each change; returns undefined or throws if the database can't
   * respond
   */
  constructor (readPosition: () => string | undefined) {
    this.#readPosition = readPosition
  }

  start (notify: () => void): void {
    let known: string | undefined
    this.#polling = new BackgroundTask(async () => {
      const found = this.#tryReadPosition()
      if (found === undefined || found !== known) notify()
      known = found
      return pollMs
    })
  }

  async close (): Promise<void> {
    await this.#polling?.stop()
  }

  /** Undefined if the database can't respond. A caller that reads then gets the reason. */
  #tryReadPosition (): string | undefined {
    try {
      return this.#readPosition()
    } catch {
      return undefined
    }
  }
}

/** How long to wait while another process writes. */
const busyMs = 10_000
/** The maximum number of cached prepared statements. */
const maxStatements = 200

/** Opens the file. Creates it and its directory if missing. @throws {DatabaseFileError} */
export async function openSqlite (file: string): Promise<Engine> {
  ensureDirectory(dirname(file))
  let sqlite: SQLite.Database | undefined
  try {
    sqlite = new SQLite(ensurePrivateDatabase(file), { timeout: busyMs })
    sqlite.pragma('journal_mode = WAL')
    // A confirmed revocation must survive a power failure.
    sqlite.pragma('synchronous = FULL')
    const db = new Kysely<Tables>({
      dialect: new SqliteDialect({ database: withSafeErrors(sqlite) }),
      plugins: [new CamelCasePlugin()]
    })
    await migrateWithLock(sqlite, db)
    return { db, changes: new PollingChangeSource(createPositionReader(sqlite)) }
  } catch (error) {
    sqlite?.close()
    throw withFileName(file, error)
  }
}

/** Holds a lock, which Kysely's migrator does not on SQLite: the gateway and a command may start at the same time. */
async function migrateWithLock (sqlite: SQLite.Database, db: Kysely<Tables>): Promise<void> {
  sqlite.exec('BEGIN IMMEDIATE')
  try {
    await migrate(db)
    sqlite.exec('COMMIT')
  } catch (error) {
    // A full disk has already rolled back the transaction.
    if (sqlite.inTransaction) sqlite.exec('ROLLBACK')
    throw error
  }
}

/**
 * The number of the latest change. It bypasses Kysely, which builds and prepares each query again, since this runs all
 * the time.
 */
function createPositionReader (sqlite: SQLite.Database): () => string | undefined {
  const latest = sqlite.prepare<[], readonly unknown[]>('SELECT feed_id, seq FROM feed').raw()
  return () => latest.get()?.join(':')
}

/**
 * The same database, which caches its prepared statements and reports a full or failing disk as an error after which
 * clients can retry.
 */
function withSafeErrors (sqlite: SQLite.Database): SqliteDatabase {
  const statements = new LRUCache<string, SQLite.Statement>({
    max: maxStatements,
    memoMethod: sql => sqlite.prepare(sql)
  })
  return {
    close: () => { sqlite.close() },
    prepare: sql => {
      const statement = statements.memo(sql)
      return {
        reader: statement.reader,
        all: parameters => runSafely(() => statement.all(...parameters)),
        // A full disk has already rolled back the transaction. The error that there is none would hide the cause.
        run: parameters =>
          sql === 'rollback' && !sqlite.inTransaction
            ? { changes: 0, lastInsertRowid: 0 }
            : runSafely(() => statement.run(...parameters)),
        // A statement that is being iterated can't be used a second time.
        iterate: parameters => sqlite.prepare(sql).iterate(...parameters)
      }
    }
  }
}

/** @throws {DatabaseUnavailable} */
function runSafely<T> (run: () => T): T {
  try {
    return run()
  } catch (error) {
    const { code = '' } = error as { code?: string }
    throw /^SQLITE_(FULL|IOERR)/.test(code)
      ? new DatabaseUnavailable(
          `The disk of the control database is full or failing. Free space in the data directory. (${code})`
      )
      : error
  }
}
