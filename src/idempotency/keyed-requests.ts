import Database from 'better-sqlite3'
import { Failure, type Issue } from '../envelope/failures.js'
import { openSqlite } from '../files/open-sqlite.js'
import { digest, fingerprintOf, idempotencyTags, recordName, type IdempotentRequest } from './digest.js'
import { idempotencyKey } from './header.js'

/** A change that was about to be written: the version that it replaces, and a digest of the new content. */
export interface Intent { readonly version: string, readonly content: string }

/** The result of a request: the id and version of the record in its response, and the warnings of the write. */
export interface Result {
  readonly id: string
  readonly version?: string
  /** They name elements, and have no values. */
  readonly warnings?: readonly Issue[]
}

/** The right to perform a request with a key, and the known outcome of earlier attempts. */
export interface IdempotencyClaim {
  readonly firstSeenAt: Date
  /** For a create: from {@link idempotencyTags}. */
  readonly marks: readonly [string, string]
  /** The result of an earlier attempt. Absent if none finished. */
  readonly result?: Result
  /** The change that an earlier attempt was about to write, if it is unknown whether it did. */
  readonly intent?: Intent
  /** A digest of the content that a change writes, which can't be computed without the key. */
  digestOf (content: unknown): string
  /** Stores the change about to be written, or undefined if it certainly was not. */
  intend (intent: Intent | undefined): void
  finish (result: Result): void
}

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

/** The lifetime of a key, in milliseconds. */
export const lifetimeMs = idempotencyKey.lifetimeHours * 3_600_000
const forgottenAtOnce = 20

/**
 * The requests with an Idempotency-Key that this gateway received in the last 24 hours, as digests, ids and versions:
 * nothing clinical and no key. Expired requests are deleted at startup, and a few with each new request.
 */
export class IdempotencyStore {
  readonly #database: Database.Database
  readonly #statements: ReturnType<typeof prepare>
  readonly #now: () => Date
  /** The requests that this process is performing. */
  readonly #underWay = new Set<string>()

  /** Opens or creates the file. */
  constructor ({ file, now }: { readonly file: string, readonly now: () => Date }) {
    this.#now = now
    // A power failure may lose the last requests. Of those, creates are still recognized by their tags.
    this.#database = openSqlite({ file, migrations, synchronous: 'NORMAL' })
    this.#statements = prepare(this.#database)
    this.#statements.forget.run(this.#expired(), -1)
  }

  /**
   * Performs a request unless it is already being performed. Stores it first; checking and storing is atomic, so only
   * one of two concurrent requests proceeds.
   * @throws {Failure} IDEMPOTENCY_KEY_REUSED if the key was used for a different request, CONFLICT while the first
   * request is in progress, BACKEND_UNAVAILABLE while nothing can be stored, such as on a full disk
   */
  async perform<T> (request: IdempotentRequest, work: (claim: IdempotencyClaim) => Promise<T>): Promise<T> {
    const name = recordName(request)
    const claim = this.#claim(request, name)
    try {
      return await work(claim)
    } finally {
      this.#underWay.delete(name)
    }
  }

  /** Closes the file. */
  close (): void {
    this.#database.close()
  }

  #claim (request: IdempotentRequest, name: string): IdempotencyClaim {
    const fingerprint = fingerprintOf(request)
    const row = storeClaim(() =>
      this.#seen({ name, fingerprint, now: this.#now().getTime(), expired: this.#expired() })
    )
    if (row.fingerprint !== fingerprint) throw new Failure('IDEMPOTENCY_KEY_REUSED')
    if (this.#underWay.has(name)) throw underWay()
    this.#underWay.add(name)
    const firstSeenAt = new Date(row.first_seen_at)
    return {
      firstSeenAt,
      marks: idempotencyTags(name, fingerprint, firstSeenAt),
      ...(row.result_id !== null && {
        result: {
          id: row.result_id,
          ...(row.result_version !== null && { version: row.result_version }),
          ...(row.result_warnings !== null && { warnings: JSON.parse(row.result_warnings) as Issue[] })
        }
      }),
      ...(row.intent_version !== null && { intent: { version: row.intent_version, content: row.intent_content! } }),
      digestOf: content => digest('content', request.key, content),
      intend: intent => {
        storeClaim(() => this.#statements.intend.run(intent?.version ?? null, intent?.content ?? null, name))
      },
      finish: result => this.#finish(name, result)
    }
  }

  #finish (name: string, { id, version, warnings = [] }: Result): void {
    try {
      this.#statements.finish.run(id, version ?? null, warnings.length === 0 ? null : JSON.stringify(warnings), name)
    } catch (error) {
      // The request was performed, so the client receives its result. A repetition is served from the record.
      if (!(error instanceof Database.SqliteError)) throw error
    }
  }

  #expired (): number {
    return this.#now().getTime() - lifetimeMs
  }

  #seen (first: First): Row {
    return this.#database.transaction(() => {
      this.#statements.forget.run(first.expired, forgottenAtOnce)
      this.#statements.add.run(first)
      return this.#statements.find.get(first.name) as Row
    }).immediate()
  }
}

interface First { readonly name: string, readonly fingerprint: string, readonly now: number, readonly expired: number }

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

/** Stores something before the request is performed. @throws {Failure} BACKEND_UNAVAILABLE */
function storeClaim<T> (note: () => T): T {
  try {
    return note()
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error
    throw new Failure('BACKEND_UNAVAILABLE', {
      message: 'Nothing was done, because the Idempotency-Key cannot be stored at the moment.',
      retryAfterSeconds: 5,
      cause: error
    })
  }
}

function underWay (): Failure {
  return new Failure('CONFLICT', {
    message: 'The first request with this Idempotency-Key is still being processed.',
    retryAfterSeconds: 1
  })
}
