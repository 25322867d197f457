import { rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import type { Mode } from '../config/mode.js'
import { DatabaseFileError, openSqlite, SchemaVersionError } from '../files/open-sqlite.js'
import type { Caller, Scope } from './caller.js'
import type { Batch, Change, KeyState, OrganizationState, Position } from './change-feed.js'

/** One key with the state of its organization, as returned by a look-up; times in milliseconds since 1970. */
export interface KeyRecord {
  readonly hash: string
  /** The caller of a request with this key, if the key is still valid. */
  readonly caller: Caller
  readonly expiresAt?: number
  readonly revokedAt?: number
}

/** The hashes of the keys whose records a batch changed, or all keys. */
export type InvalidatedKeys = ReadonlySet<string> | 'everything'

/** A new version replaces the tables, since the feed fills them again; a file of a later one is deleted. */
const migrations = ['', '', `
  DROP TABLE IF EXISTS position; DROP TABLE IF EXISTS organizations; DROP TABLE IF EXISTS keys;
  CREATE TABLE position (feed_id TEXT NOT NULL, seq INTEGER NOT NULL, synced_at INTEGER);
  INSERT INTO position VALUES ('', 0, NULL);
  CREATE TABLE organizations (
    tenant_id TEXT PRIMARY KEY, plan TEXT NOT NULL, overage INTEGER NOT NULL, datastore TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE keys (
    hash TEXT PRIMARY KEY, key_id TEXT NOT NULL UNIQUE, tenant_id TEXT NOT NULL, name TEXT NOT NULL,
    mode TEXT NOT NULL, scopes TEXT NOT NULL, expires_at INTEGER, revoked_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX keys_of_tenant ON keys (tenant_id);`]

/**
 * A gateway's local copy of the control plane's keys: enough to validate a key while everything else is down. It holds
 * hashes and no secret, and may be deleted at any time.
 */
export class Replica {
  readonly #database: Database.Database
  readonly #statements: ReturnType<typeof prepare>
  readonly #apply: (batch: Batch, now: Date) => InvalidatedKeys
  /** The organizations that were looked up since the last batch. */
  readonly #organizations = new LRUCache<string, Pick<OrganizationState, 'plan' | 'overage'>>({ max: 1_000 })
  #syncedAt: number | undefined

  /** Opens or creates the file; `:memory:` keeps the copy in memory. */
  constructor (file: string) {
    this.#database = openOrRemake(file)
    this.#statements = prepare(this.#database)
    this.#apply = this.#database.transaction((batch: Batch, now: Date) => this.#applyBatch(batch, now)).immediate
    this.#syncedAt = this.#readPositionRow().synced_at ?? undefined
  }

  /** The position of the copy in the change feed. */
  readPosition (): Position {
    const { feed_id: feedId, seq } = this.#readPositionRow()
    return { feedId, seq }
  }

  /** When the copy was last known to be complete; undefined while it is being built. */
  syncedAt (): Date | undefined {
    return this.#syncedAt === undefined ? undefined : new Date(this.#syncedAt)
  }

  /** The key with this hash, even if revoked or expired; undefined if it or its organization is unknown. */
  find (hash: string): KeyRecord | undefined {
    const row = this.#statements.find.get(hash) as FoundRow | undefined
    return row && toRecord(row)
  }

  /** The current state of an organization; undefined if unknown. Cached, since each record of an import needs it. */
  findOrganization (tenantId: string): Pick<OrganizationState, 'plan' | 'overage'> | undefined {
    const held = this.#organizations.get(tenantId)
    if (held !== undefined) return held
    const row = this.#statements.organization.get(tenantId) as Pick<FoundRow, 'plan' | 'overage'> | undefined
    if (row === undefined) return undefined
    const found = { plan: row.plan, overage: row.overage === 1 }
    this.#organizations.set(tenantId, found)
    return found
  }

  /** Whether the key with this id is known to be revoked; false for a key that is unknown or only expired. */
  isRevoked (keyId: string): boolean {
    return this.#statements.revoked.get(keyId) !== undefined
  }

  /**
   * Applies a batch and its number in one transaction. Skips changes that it has, but returns their hashes.
   * @throws {Error} when changes between the copy and the batch are missing; nothing was applied then
   */
  apply (batch: Batch, now: Date): InvalidatedKeys {
    const changed = this.#apply(batch, now)
    this.#organizations.clear()
    this.#syncedAt = this.#readPositionRow().synced_at ?? undefined
    return changed
  }

  /** Closes the file. */
  close (): void {
    this.#database.close()
  }

  #readPositionRow (): PositionRow {
    return this.#statements.position.get() as PositionRow
  }

  #applyBatch (batch: Batch, now: Date): InvalidatedKeys {
    const held = batch.isSnapshot ? this.#clearTables() : this.#readPositionRow()
    if (batch.after > held.seq || (!batch.isSnapshot && batch.feedId !== held.feed_id)) {
      throw new Error(`the local key copy is at ${held.seq} and cannot apply changes after ${batch.after}`)
    }
    const hashes = new Set<string>()
    for (const change of batch.changes) {
      if (change.seq > held.seq) this.#put(change)
      for (const hash of this.#listHashes(change)) hashes.add(hash)
    }
    const syncedAt = batch.isLatest ? now.getTime() : held.synced_at
    this.#statements.move.run(batch.feedId, Math.max(batch.through, held.seq), syncedAt)
    return batch.isSnapshot ? 'everything' : hashes
  }

  #clearTables (): PositionRow {
    this.#database.exec('DELETE FROM keys; DELETE FROM organizations')
    return { feed_id: '', seq: 0, synced_at: null }
  }

  #put (change: Change): void {
    if (change.kind === 'key') this.#statements.putKey.run(toKeyRow(change.state))
    else this.#statements.putOrganization.run(toOrganizationRow(change.state))
  }

  #listHashes (change: Change): string[] {
    if (change.kind === 'key') return [change.state.hash]
    return this.#statements.hashesOfTenant.all(change.state.tenantId) as string[]
  }
}

interface PositionRow { feed_id: string, seq: number, synced_at: number | null }

interface FoundRow {
  hash: string
  key_id: string
  tenant_id: string
  name: string
  mode: Mode
  scopes: string
  expires_at: number | null
  revoked_at: number | null
  plan: string
  overage: number
  datastore: string | null
}

function openOrRemake (file: string): Database.Database {
  try {
    return open(file)
  } catch (error) {
    if (!isReplaceable(error)) throw error
    remove(file)
    return open(file)
  }
}

const open = (file: string): Database.Database => openSqlite({ file, migrations })

const isReplaceable = (error: unknown): boolean =>
  error instanceof SchemaVersionError ||
  (error instanceof DatabaseFileError && ['SQLITE_NOTADB', 'SQLITE_CORRUPT'].includes(error.code))

function remove (file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
}

function prepare (database: Database.Database) {
  return {
    position: database.prepare('SELECT feed_id, seq, synced_at FROM position'),
    move: database.prepare('UPDATE position SET feed_id = ?, seq = ?, synced_at = ?'),
    // A key of an unknown organization is not found: its requests could not be billed.
    find: database.prepare(
      'SELECT k.*, o.plan, o.overage, o.datastore FROM keys k JOIN organizations o USING (tenant_id) WHERE k.hash = ?'
    ),
    organization: database.prepare('SELECT plan, overage FROM organizations WHERE tenant_id = ?'),
    revoked: database.prepare('SELECT 1 FROM keys WHERE key_id = ? AND revoked_at IS NOT NULL'),
    hashesOfTenant: database.prepare('SELECT hash FROM keys WHERE tenant_id = ?').pluck(),
    putOrganization: database.prepare(`
      INSERT INTO organizations VALUES (:tenantId, :plan, :overage, :datastore)
      ON CONFLICT (tenant_id) DO UPDATE SET plan = :plan, overage = :overage, datastore = :datastore`),
    putKey: database.prepare(`
      INSERT INTO keys VALUES (:hash, :keyId, :tenantId, :name, :mode, :scopes, :expiresAt, :revokedAt)
      ON CONFLICT (hash) DO UPDATE SET name = :name, scopes = :scopes, expires_at = :expiresAt, revoked_at = :revokedAt`)
  }
}

function toOrganizationRow (state: OrganizationState) {
  return { ...state, overage: Number(state.overage), datastore: state.datastore ?? null }
}

function toKeyRow (state: KeyState) {
  return {
    ...state,
    scopes: JSON.stringify(state.scopes),
    expiresAt: toMilliseconds(state.expiresAt),
    revokedAt: toMilliseconds(state.revokedAt)
  }
}

function toMilliseconds (iso: string | undefined): number | null {
  if (iso === undefined) return null
  const time = Date.parse(iso)
  // SQLite stores NaN as NULL, and a key without an expiry never expires.
  if (Number.isNaN(time)) throw new Error('a change contains a time that is not ISO 8601')
  return time
}

function toRecord (row: FoundRow): KeyRecord {
  return {
    hash: row.hash,
    caller: Object.freeze({
      keyId: row.key_id,
      keyName: row.name,
      tenantId: row.tenant_id,
      plan: row.plan,
      ...(row.datastore === null ? {} : { datastore: row.datastore }),
      overage: row.overage === 1,
      mode: row.mode,
      scopes: JSON.parse(row.scopes) as Scope[]
    }),
    expiresAt: row.expires_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined
  }
}
