import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import SQLite from 'better-sqlite3'
import { CamelCasePlugin, Kysely, SqliteDialect, type SqliteDatabase } from 'kysely'
import { DatabaseUnavailable } from '../database-unavailable.js'
import type { Tables } from '../tables.js'
import { migrate, type Engine } from './engine.js'
import { AskedOften } from './asked-often.js'

/** How long a process waits while another one writes. */
const busyMs = 10_000

/** Opens the file, makes it and its directory where they are missing. */
export async function openSqlite (file: string): Promise<Engine> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const sqlite = new SQLite(file, { timeout: busyMs })
  try {
    sqlite.pragma('journal_mode = WAL')
    // A revocation that was confirmed must outlast a power cut.
    sqlite.pragma('synchronous = FULL')
    const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: telling(sqlite) }), plugins: [new CamelCasePlugin()] })
    await migrateAlone(sqlite, db)
    return { db, changes: new AskedOften(db) }
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

/** The same database, whose disk that is full or fails is told as what can be tried again. */
function telling (sqlite: SQLite.Database): SqliteDatabase {
  return {
    close: () => { sqlite.close() },
    prepare: sql => {
      const statement = sqlite.prepare<unknown[]>(sql)
      return {
        reader: statement.reader,
        all: parameters => told(() => statement.all(...parameters)),
        // A disk that is full has ended the transaction already; that there is none to undo would hide why.
        run: parameters => sql === 'rollback' && !sqlite.inTransaction ? { changes: 0, lastInsertRowid: 0 } : told(() => statement.run(...parameters)),
        iterate: parameters => statement.iterate(...parameters)
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
