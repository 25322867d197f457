import { chmodSync, closeSync, openSync } from 'node:fs'
import { basename } from 'node:path'
import Database from 'better-sqlite3'

interface SqliteOptions {
  /** The path, or `:memory:`. */
  readonly file: string
  /**
   * The statements that lead to each version of the tables: the first ones make them, and a file of an earlier version
   * gets the others. When the tables change, statements are added at the end.
   */
  readonly migrations: readonly string[]
  /** FULL where a power failure must not lose what was confirmed; NORMAL may lose the last transactions. */
  readonly synchronous?: 'NORMAL' | 'FULL'
  /** How long to wait while another connection has the file locked. */
  readonly timeoutMs?: number
}

/** What SQLite or {@link openSqlite} raises for a file, with the file's name, which SQLite leaves out. */
export class DatabaseFileError extends Error {
  override readonly name: string = 'DatabaseFileError'
  readonly code: string

  constructor (readonly file: string, cause: NodeJS.ErrnoException) {
    super(`${basename(file)}: ${cause.message}`, { cause })
    this.code = cause.code ?? ''
  }
}

/** A file has the tables of a later version of this program. */
export class SchemaVersionError extends DatabaseFileError {
  override readonly name = 'SchemaVersionError'
}

/** An error of SQLite with the name of the file; any other error unchanged. */
export function withFileName (file: string, error: unknown): unknown {
  const { code } = error as { readonly code?: string }
  if (error instanceof DatabaseFileError || code?.startsWith('SQLITE_') !== true) return error
  return new DatabaseFileError(file, error as Error)
}

/**
 * Opens or creates a SQLite database that only its owner can read, with a write-ahead log. Several processes may do so
 * at the same time.
 * @throws {DatabaseFileError} with SQLite's code, such as SQLITE_NOTADB, or a {@link SchemaVersionError}
 */
export function openSqlite (
  { file, migrations, synchronous = 'NORMAL', timeoutMs = 5_000 }: SqliteOptions
): Database.Database {
  let database: Database.Database | undefined
  try {
    database = new Database(ensurePrivateDatabase(file), { timeout: timeoutMs })
    database.pragma('journal_mode = WAL')
    database.pragma(`synchronous = ${synchronous}`)
    const found = readSchemaVersion(database)
    if (found > migrations.length) {
      throw new SchemaVersionError(file, new Error(`has schema version ${found}, expected ${migrations.length}`))
    }
    if (found < migrations.length) database.transaction(migrate).immediate(database, migrations)
    return database
  } catch (error) {
    database?.close()
    throw withFileName(file, error)
  }
}

function migrate (database: Database.Database, migrations: readonly string[]): void {
  // Another process may have been first.
  for (const statements of migrations.slice(readSchemaVersion(database))) database.exec(statements)
  database.pragma(`user_version = ${migrations.length}`)
}

/** How many migrations a file has had; 0 for a new one. */
const readSchemaVersion = (database: Database.Database): number =>
  database.pragma('user_version', { simple: true }) as number

const ownerOnlyMode = 0o600

/**
 * Lets no other user of the machine read a SQLite database, whatever the umask and the directory allow; one that is not
 * there is made, empty. What cannot be made or changed is left to SQLite, which says what stands in the way.
 * @returns the path, to open
 */
export function ensurePrivateDatabase (file: string): string {
  if (file === ':memory:') return file
  try {
    closeSync(openSync(file, 'wx', ownerOnlyMode))
  } catch {
    // It is there already. Opening and closing it here would take away the locks that this process has on it.
    for (const part of [file, `${file}-wal`, `${file}-shm`]) restrictToOwner(part)
  }
  return file
}

function restrictToOwner (file: string): void {
  try {
    chmodSync(file, ownerOnlyMode)
  } catch {
    // The file does not exist, or belongs to another user, who decides on its permissions.
  }
}
