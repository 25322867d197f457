import Database from 'better-sqlite3'

/** A record as the scan saw it. */
export interface ScannedRecord {
  readonly type: string
  readonly id: string
  /** The tenant that owns it; absent if there is none or the tags are ambiguous. */
  readonly tenantId?: string | undefined
  /** The finding about it or the outcome for it, in the words of the command. */
  readonly state: string
}

/** A reference whose target is not known to be of the same tenant, or not yet. */
export interface UnverifiedReference {
  /** FHIRPath of the element that refers. */
  readonly path: string
  /** `Type/id`; absent where it leads to no record that a tenant could own. */
  readonly target?: string | undefined
}

/** A suspect with the record that refers. */
export interface SuspectReference extends UnverifiedReference {
  readonly key: number
  /** `Type/id` of the record that refers. */
  readonly source: string
}

/** A fault of a reference in a record. */
export interface ReferenceFinding extends UnverifiedReference {
  readonly source: string
  readonly finding: string
  readonly tenantId: string
  readonly targetTenantId?: string | undefined
}

/** How many records of a type are in a state, or how many references of its records have a fault. */
interface Count { readonly type: string, readonly state: string, readonly count: number }

/**
 * The state of a scan of millions of records: the tenant of each one, and the unverified references. It is in a
 * temporary SQLite file without a name, which disappears with the process, however that ends. It contains ids and
 * tenant ids only.
 */
export class ScanIndex {
  readonly #db = open()
  readonly #statements = prepare(this.#db)

  /** Runs many notes in one transaction, which is faster. */
  runInTransaction (work: () => void): void {
    this.#db.transaction(work)()
  }

  /** Stores a record, in place of its earlier entry, and those of its references that are unverified. */
  storeRecord (record: ScannedRecord, references: Iterable<UnverifiedReference> = []): void {
    const { type, id, tenantId = null, state } = record
    const { addRecord, dropSuspects, addSuspect } = this.#statements
    addRecord.run(type, id, tenantId, state)
    dropSuspects.run(`${type}/${id}`)
    for (const { path, target } of references) {
      if (target === undefined || tenantId === null || this.getTenant(target) !== tenantId) {
        addSuspect.run(`${type}/${id}`, path, target ?? null)
      }
    }
  }

  getState (type: string, id: string): string | undefined {
    return this.#statements.record.get(type, id)?.state
  }

  /** The tenant of a record (`Type/id`); undefined if it was not scanned or has none. */
  getTenant (reference: string): string | undefined {
    const [type, id] = reference.split('/') as [string, string]
    return this.#statements.record.get(type, id)?.tenant ?? undefined
  }

  /** Suspects in batches, without those whose target has turned out to be of the same tenant. */
  * readSuspects (batchSize: number): Generator<readonly SuspectReference[]> {
    let after = 0
    for (;;) {
      const batch = this.#statements.suspects.all(after, batchSize)
      if (batch.length === 0) return
      after = batch.at(-1)!.key
      const inDoubt = batch.filter(
        ({ source, target }) => target === null || this.getTenant(target) !== this.getTenant(source)
      )
      yield inDoubt.map(({ key, source, path, target }) => ({ key, source, path, target: target ?? undefined }))
    }
  }

  addFault ({ source, finding, tenantId, path, target, targetTenantId }: ReferenceFinding): void {
    const [type, id] = source.split('/')
    this.#statements.addFault.run(type, id, finding, tenantId, path, target ?? null, targetTenantId ?? null)
  }

  /** How many records there are of each type and state. */
  countRecords (): Count[] {
    return this.#statements.recordCounts.all()
  }

  /** How many references are at fault, by the type of the record that refers. */
  countFaults (): Count[] {
    return this.#statements.faultCounts.all()
  }

  /** The records in one of these states, by type and id. */
  listRecords (states: readonly string[]): IterableIterator<ScannedRecord> {
    return this.#statements.records.iterate(JSON.stringify(states))
  }

  /** The faults, by type and id. */
  * listFaults (): Generator<ReferenceFinding> {
    for (const { type, id, path, target, finding, tenantId, targetTenantId } of this.#statements.faults.iterate()) {
      yield { source: `${type}/${id}`, path, finding, tenantId, target: target ?? undefined, targetTenantId: targetTenantId ?? undefined }
    }
  }

  close (): void {
    this.#db.close()
  }
}

function open (): Database.Database {
  // For an empty name, SQLite creates a file of its own that no other process can open; it writes there what exceeds
  // its cache.
  const db = new Database('')
  db.pragma('journal_mode = OFF')
  db.pragma('synchronous = OFF')
  db.pragma('cache_size = -65536')
  return db.exec(`
    CREATE TABLE record (type TEXT, id TEXT, tenant TEXT, state TEXT NOT NULL, PRIMARY KEY (type, id)) WITHOUT ROWID;
    CREATE TABLE suspect (key INTEGER PRIMARY KEY, source TEXT NOT NULL, path TEXT NOT NULL, target TEXT);
    CREATE INDEX suspect_by_source ON suspect (source);
    CREATE TABLE fault (type TEXT, id TEXT, finding TEXT, tenantId TEXT, path TEXT, target TEXT, targetTenantId TEXT);
  `)
}

interface RecordRow { tenant: string | null, state: string }
interface SuspectRow { key: number, source: string, path: string, target: string | null }
interface FaultRow {
  type: string
  id: string
  finding: string
  tenantId: string
  path: string
  target: string | null
  targetTenantId: string | null
}

function prepare (db: Database.Database) {
  return {
    addRecord: db.prepare(`
      INSERT INTO record (type, id, tenant, state) VALUES (?, ?, ?, ?)
      ON CONFLICT (type, id) DO UPDATE SET tenant = excluded.tenant, state = excluded.state`),
    record: db.prepare<[string, string], RecordRow>('SELECT tenant, state FROM record WHERE type = ? AND id = ?'),
    records: db.prepare<[string], ScannedRecord>(
      'SELECT type, id, tenant AS tenantId, state FROM record WHERE state IN (SELECT value FROM json_each(?)) ORDER BY type, id'
    ),
    recordCounts: db.prepare<[], Count>(
      'SELECT type, state, count(*) AS count FROM record GROUP BY type, state ORDER BY type, state'
    ),
    addSuspect: db.prepare('INSERT INTO suspect (source, path, target) VALUES (?, ?, ?)'),
    dropSuspects: db.prepare('DELETE FROM suspect WHERE source = ?'),
    suspects: db.prepare<[number, number], SuspectRow>(
      'SELECT key, source, path, target FROM suspect WHERE key > ? ORDER BY key LIMIT ?'
    ),
    addFault: db.prepare(
      'INSERT INTO fault (type, id, finding, tenantId, path, target, targetTenantId) VALUES (?, ?, ?, ?, ?, ?, ?)'
    ),
    faultCounts: db.prepare<[], Count>(
      'SELECT type, finding AS state, count(*) AS count FROM fault GROUP BY type, finding ORDER BY type, finding'
    ),
    faults: db.prepare<[], FaultRow>('SELECT * FROM fault ORDER BY type, id, path')
  }
}
