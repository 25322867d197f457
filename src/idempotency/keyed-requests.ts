import Database from 'better-sqlite3'
import { Failure } from '../envelope/failures.js'
import { privateDatabase } from '../private-database.js'
import { digest, fingerprintOf, marksOf, nameOf, type KeyedRequest } from './digest.js'
import { idempotencyKey } from './header.js'

/** A change that was about to be written: the version that it replaces, and a digest of what it writes. */
export interface Intent { readonly version: string, readonly content: string }

/** What a request made: the record and the version that its answer showed. */
export interface Result { readonly id: string, readonly version?: string }

/** The right to perform a keyed request, and what is known of earlier runs. */
export interface Claim {
  readonly firstSeenAt: Date
  /** For a create; of {@link marksOf}. */
  readonly marks: readonly [string, string]
  /** What an earlier run made; absent when none was answered. */
  readonly result?: Result
  /** What an earlier run was about to write, when nobody knows whether it did. */
  readonly intent?: Intent
  /** A digest of what a change writes, that only this key can tell. */
  digestOf (content: unknown): string
  /** Notes down what is about to be written, or that it certainly was not. */
  intend (intent: Intent | undefined): void
  finish (result: Result): void
}

const tables = `
  CREATE TABLE IF NOT EXISTS keyed_request (
    name TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, first_seen_at INTEGER NOT NULL,
    intent_version TEXT, intent_content TEXT, result_id TEXT, result_version TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS keyed_request_by_age ON keyed_request (first_seen_at);`

/** The lifetime that a key has, in milliseconds. */
export const lifetimeMs = idempotencyKey.lifetimeHours * 3_600_000
const forgottenAtOnce = 20

/**
 * The requests with an Idempotency-Key that this gateway saw in the last 24 hours: digests, ids and versions, nothing
 * clinical and no key. Expired ones are dropped at the start, and some with each new one.
 */
export class KeyedRequests {
  readonly #database: Database.Database
  readonly #statements: ReturnType<typeof prepare>
  readonly #now: () => Date
  /** Being performed by this process. */
  readonly #underWay = new Set<string>()

  /** Opens the file or makes it. */
  constructor ({ file, now }: { readonly file: string, readonly now: () => Date }) {
    this.#now = now
    this.#database = new Database(privateDatabase(file))
    this.#database.pragma('journal_mode = WAL')
    // A power failure may take back the last requests, of which creates are still told by their marks.
    this.#database.pragma('synchronous = NORMAL')
    this.#database.exec(tables)
    this.#statements = prepare(this.#database)
    this.#statements.forget.run(this.#expired(), -1)
  }

  /**
   * Performs a request while nobody else does. It is noted down first; looking and noting down is one step, so of two that
   * come together one gets it.
   * @throws {Failure} IDEMPOTENCY_KEY_REUSED for another request than the first with the key, CONFLICT while that is under way,
   * BACKEND_UNAVAILABLE while nothing can be noted down, as on a full disk
   */
  async perform<T> (request: KeyedRequest, work: (claim: Claim) => Promise<T>): Promise<T> {
    const name = nameOf(request)
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

  #claim (request: KeyedRequest, name: string): Claim {
    const fingerprint = fingerprintOf(request)
    const row = noted(() => this.#seen({ name, fingerprint, now: this.#now().getTime(), expired: this.#expired() }))
    if (row.fingerprint !== fingerprint) throw new Failure('IDEMPOTENCY_KEY_REUSED')
    if (this.#underWay.has(name)) throw underWay()
    this.#underWay.add(name)
    const firstSeenAt = new Date(row.first_seen_at)
    return {
      firstSeenAt,
      marks: marksOf(name, fingerprint, firstSeenAt),
      ...row.result_id !== null && { result: { id: row.result_id, ...row.result_version !== null && { version: row.result_version } } },
      ...row.intent_version !== null && { intent: { version: row.intent_version, content: row.intent_content! } },
      digestOf: content => digest('content', request.key, content),
      intend: intent => { noted(() => this.#statements.intend.run(intent?.version ?? null, intent?.content ?? null, name)) },
      finish: result => this.#finish(name, result)
    }
  }

  #finish (name: string, { id, version }: Result): void {
    try {
      this.#statements.finish.run(id, version ?? null, name)
    } catch (error) {
      // It is done, and the client is to hear so; one that asks again is answered by what the record itself tells.
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
}

function prepare (database: Database.Database) {
  return {
    forget: database.prepare('DELETE FROM keyed_request WHERE name IN (SELECT name FROM keyed_request WHERE first_seen_at <= ? LIMIT ?)'),
    add: database.prepare(`
      INSERT INTO keyed_request (name, fingerprint, first_seen_at) VALUES (:name, :fingerprint, :now)
      ON CONFLICT (name) DO UPDATE SET fingerprint = :fingerprint, first_seen_at = :now,
        intent_version = NULL, intent_content = NULL, result_id = NULL, result_version = NULL
      WHERE first_seen_at <= :expired`),
    find: database.prepare('SELECT * FROM keyed_request WHERE name = ?'),
    intend: database.prepare('UPDATE keyed_request SET intent_version = ?, intent_content = ? WHERE name = ?'),
    finish: database.prepare('UPDATE keyed_request SET result_id = ?, result_version = ? WHERE name = ?')
  }
}

/** What is noted down before anything is done. */
function noted<T> (note: () => T): T {
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
