import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import SQLite from 'better-sqlite3'
import { CamelCasePlugin, Kysely, Migrator, SqliteDialect } from 'kysely'
import { migrations } from './migrations/index.js'
import type { Tables } from './tables.js'

/** How long a process waits while another one writes. */
const busyMs = 10_000

/** Opens the control database, makes it and its directory where they are missing, and brings its tables up to date. */
export async function openDatabase (file: string): Promise<Kysely<Tables>> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const sqlite = new SQLite(file, { timeout: busyMs })
  try {
    sqlite.pragma('journal_mode = WAL')
    // A revocation that was confirmed must outlast a power cut.
    sqlite.pragma('synchronous = FULL')
    const database = new Kysely<Tables>({ dialect: new SqliteDialect({ database: sqlite }), plugins: [new CamelCasePlugin()] })
    await migrate(sqlite, database)
    return database
  } catch (error) {
    sqlite.close()
    throw error
  }
}

async function migrate (sqlite: SQLite.Database, database: Kysely<Tables>): Promise<void> {
  // Kysely's migrator has no lock on SQLite, and the gateway and the CLI may both be the first.
  sqlite.exec('BEGIN IMMEDIATE')
  const { error } = await new Migrator({ db: database, provider: migrations }).migrateToLatest()
  sqlite.exec(error === undefined ? 'COMMIT' : 'ROLLBACK')
  if (error !== undefined) throw error
}
