import Database from 'better-sqlite3'
import type { Issue } from '../envelope/failures.js'
import { openSqlite } from '../files/open-sqlite.js'
import {
  lifetimeMs, storageUnavailable, type Intent, type RequestStorage, type RequestToClaim, type Result, type StoredRequest
} from './keyed-requests.js'

const migrations = [
  `CREATE TABLE IF NOT EXISTS keyed_request (
    name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, first_seen_at INTEGER NOT NULL,
    intent_version TEXT, intent_content TEXT, result_id TEXT, result_version TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS keyed_request_by_age ON keyed_request (first_seen_at);`,
  // A new table, since some files of version 1 have the column for warnings already.
  `ALTER TABLE keyed_request RENAME TO first_keyed_request;
  CREATE TABLE keyed_request (
    name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, first_seen_at INTEGER NOT NULL,
    intent_version TEXT, intent_content TEXT, result_id TEXT, result_version TEXT, result_warnings TEXT
  ) STRICT, WITHOUT ROWID;
  INSERT INTO keyed_request SELECT name, fingerprint, first_seen_at,
    intent_version, intent_content, result_id, result_version, NULL FROM first_keyed_request;
  DROP TABLE first_keyed_request;
  CREATE INDEX keyed_request_by_age ON keyed_request (first_seen_at);`
]

const maxDeletedAtOnce = 20

/**
 * Stores the requests of one gateway in a file. Expired ones are deleted when it is opened, and a few with each new
 * request.
 */
export class RequestFile implements RequestStorage {
  readonly #database: Database.Database
  readonly #statements: ReturnType<typeof prepare>
  /** The requests that this process is performing. */
  readonly #inProgress = new Set<string>()

  /** Opens or creates the file. */
  constructor ({ file, now }: { readonly file: string, readonly now: () => Date }) {
    // A power failure may lose the last requests. Of those, creates are still recognized by their tags.
    this.#database = openSqlite({ file, migrations, synchronous: 'NORMAL' })
    this.#statements = prepare(this.#database)
    this.#statements.forget.run(getExpiryThreshold(now()), -1)
  }

  async claim (request: RequestToClaim): Promise<StoredRequest | 'reused' | 'in-progress'> {
    const { name, fingerprint } = request
    const row = store(() => this.#findOrInsert(request))
    if (row.fingerprint !== fingerprint) return 'reused'
    if (this.#inProgress.has(name)) return 'in-progress'
    this.#inProgress.add(name)
    return toStoredRequest(row)
  }

  async intend (name: string, intent: Intent | undefined): Promise<boolean> {
    store(() => this.#statements.intend.run(intent?.version ?? null, intent?.content ?? null, name))
    return true
  }

  async finish (name: string, { id, version, warnings = [] }: Result): Promise<void> {
    const texts = warnings.length === 0 ? null : JSON.stringify(warnings)
    store(() => this.#statements.finish.run(id, version ?? null, texts, name))
  }

  async release (name: string): Promise<void> {
    this.#inProgress.delete(name)
  }

  /** Closes the file. */
  close (): void {
    this.#database.close()
  }

  #findOrInsert ({ name, fingerprint, now }: RequestToClaim): Row {
    return this.#database.transaction(() => {
      const expired = getExpiryThreshold(now)
      this.#statements.forget.run(expired, maxDeletedAtOnce)
      this.#statements.add.run({ name, fingerprint, now: now.getTime(), expired })
      return this.#statements.find.get(name) as Row
    }).immediate()
  }
}

const getExpiryThreshold = (now: Date): number => now.getTime() - lifetimeMs

function toStoredRequest (row: Row): StoredRequest {
  return {
    firstSeenAt: new Date(row.first_seen_at),
    ...(row.result_id !== null && {
      result: {
        id: row.result_id,
        ...(row.result_version !== null && { version: row.result_version }),
        ...(row.result_warnings !== null && { warnings: JSON.parse(row.result_warnings) as Issue[] })
      }
    }),
    ...(row.intent_version !== null && { intent: { version: row.intent_version, content: row.intent_content! } })
  }
}

interface Row {
  readonly fingerprint: string
  readonly first_seen_at: number
  readonly intent_version: string | null
  readonly intent_content: string | null
  readonly result_id: string | null
  readonly result_version: string | null
  readonly result_warnings: string | null
}

function prepare (database: Database.Database) {
  return {
    forget: database.prepare(
      'DELETE FROM keyed_request WHERE name IN (SELECT name FROM keyed_request WHERE first_seen_at <= ? LIMIT ?)'
    ),
    add: database.prepare(`
      INSERT INTO keyed_request (name, fingerprint, first_seen_at) VALUES (:name, :fingerprint, :now)
      ON CONFLICT (name) DO UPDATE SET fingerprint = :fingerprint, first_seen_at = :now,
        intent_version = NULL, intent_content = NULL, result_id = NULL, result_version = NULL,
        result_warnings = NULL
      WHERE first_seen_at <= :expired`),
    find: database.prepare('SELECT * FROM keyed_request WHERE name = ?'),
    intend: database.prepare('UPDATE keyed_request SET intent_version = ?, intent_content = ? WHERE name = ?'),
    finish: database.prepare(
      'UPDATE keyed_request SET result_id = ?, result_version = ?, result_warnings = ? WHERE name = ?'
    )
  }
}

/** @throws {Failure} BACKEND_UNAVAILABLE */
function store<T> (change: () => T): T {
  try {
    return change()
  } catch (error) {
    if (error instanceof Database.SqliteError) throw storageUnavailable(error)
    throw error
  }
}
