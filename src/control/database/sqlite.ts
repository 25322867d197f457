import { dirname } from 'node:path'
import SQLite from 'better-sqlite3'
import { CamelCasePlugin, Kysely, SqliteDialect, type SqliteDatabase } from 'kysely'
import { LRUCache } from 'lru-cache'
import { madeDirectory } from '../../made-directory.js'
import { privateDatabase } from '../../private-database.js'
import { DatabaseUnavailable } from '../database-unavailable.js'
import type { Tables } from '../tables.js'
import { migrate, type Engine } from './engine.js'
import { AskedOften } from './asked-often.js'

/** How long a process waits while another one writes. */
const busyMs = 10_000
/** Statements that are kept prepared. */
const mostStatements = 200

/** Opens the file, makes it and its directory where they are missing. */
export async function openSqlite (file: string): Promise<Engine> {
  madeDirectory(dirname(file))
  const sqlite = new SQLite(privateDatabase(file), { timeout: busyMs })
  try {
    sqlite.pragma('journal_mode = WAL')
    // A revocation that was confirmed must outlast a power cut.
    sqlite.pragma('synchronous = FULL')
    const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: telling(sqlite) }), plugins: [new CamelCasePlugin()] })
    await migrateAlone(sqlite, db)
    return { db, changes: new AskedOften(latestIn(sqlite)) }
  } catch (error) {
    sqlite.close()
    throw error
  }
}

/** Kysely's migrator has no lock on SQLite, and the gateway and the CLI may both be the first. */
async function migrateAlone (sqlite: SQLite.Database, db: Kysely<Tables>): Promise<void> {
  sqlite.exec('BEGIN IMMEDIATE')
  try {
    await migrate(db)
    sqlite.exec('COMMIT')
  } catch (error) {
    // A disk that is full has ended the transaction already.
    if (sqlite.inTransaction) sqlite.exec('ROLLBACK')
    throw error
  }
}

/** The last change that gateways are to know of. Not by Kysely, which builds and prepares each query anew, since this is asked all the time. */
function latestIn (sqlite: SQLite.Database): () => string | undefined {
  const latest = sqlite.prepare<[], readonly unknown[]>('SELECT feed_id, seq FROM feed').raw()
  return () => latest.get()?.join(':')
}

/** The same database with its statements kept prepared, whose disk that is full or fails is told as what can be tried again. */
function telling (sqlite: SQLite.Database): SqliteDatabase {
  const statements = new LRUCache<string, SQLite.Statement>({ max: mostStatements, memoMethod: sql => sqlite.prepare(sql) })
  return {
    close: () => { sqlite.close() },
    prepare: sql => {
      const statement = statements.memo(sql)
      return {
        reader: statement.reader,
        all: parameters => told(() => statement.all(...parameters)),
        // A disk that is full has ended the transaction already; that there is none to undo would hide why.
        run: parameters => sql === 'rollback' && !sqlite.inTransaction ? { changes: 0, lastInsertRowid: 0 } : told(() => statement.run(...parameters)),
        // A statement that is being read row by row can't be used a second time.
        iterate: parameters => sqlite.prepare(sql).iterate(...parameters)
      }
    }
  }
}

/** @throws {DatabaseUnavailable} */
function told<T> (ask: () => T): T {
  try {
    return ask()
  } catch (error) {
    const { code = '' } = error as { code?: string }
    throw /^SQLITE_(FULL|IOERR)/.test(code) ? new DatabaseUnavailable(`The disk of the control database is full or failing. Free space in the data directory. (${code})`) : error
  }
}
