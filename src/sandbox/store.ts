import type Database from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import { printJson } from '../json/json.js'
import type { StoredResource } from '../mappings/fhir.js'
import { openSqlite } from '../files/open-sqlite.js'
import { buildIndexRows } from './index-rows.js'
import { FhirError } from './outcome.js'
import { collectLinks } from './references.js'

/** The tables by version. */
const migrations = [`
  CREATE TABLE resource (
    pk INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    UNIQUE (type, id)
  );
  CREATE INDEX resource_by_type ON resource (type, deleted);

  CREATE TABLE version (
    pk INTEGER NOT NULL REFERENCES resource,
    version INTEGER NOT NULL,
    method TEXT NOT NULL,
    at TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (pk, version)
  );

  CREATE TABLE link (source INTEGER NOT NULL REFERENCES resource, type TEXT NOT NULL, id TEXT NOT NULL);
  CREATE INDEX link_by_source ON link (source);
  CREATE INDEX link_by_target ON link (type, id);

  CREATE TABLE search_index (pk INTEGER NOT NULL REFERENCES resource, parameter TEXT NOT NULL, system TEXT, value TEXT, low REAL, high REAL);
  CREATE INDEX search_index_by_pk ON search_index (pk, parameter, value, low);
  CREATE INDEX search_index_by_value ON search_index (parameter, value, system, pk);
  CREATE INDEX search_index_by_range ON search_index (parameter, low, high, pk) WHERE low IS NOT NULL;
`]

/** How a version came to be. */
type WriteMethod = 'POST' | 'PUT' | 'DELETE'

/** One version of a resource. That of a deletion carries the text of the version before it. */
export interface Version {
  readonly pk: number
  readonly type: string
  readonly id: string
  readonly version: number
  readonly method: WriteMethod
  /** ISO 8601. */
  readonly at: string
  /** FHIR JSON, numbers as they were sent. */
  readonly text: string
}

/** A part of a WHERE about the resource `r`. */
export interface Condition { readonly sql: string, readonly args: readonly unknown[] }

/** The maximum number of searches whose prepared statements are cached. */
const maxSearchStatements = 200

const columns =
  'SELECT r.pk, r.type, r.id, v.version, v.method, v.at, v.text FROM resource r JOIN version v ON v.pk = r.pk'

/**
 * The resources of one sandbox with all their versions, in one SQLite database. Everything is synchronous: a request
 * completes before the next one begins, so no client sees half a transaction.
 */
export class Store {
  readonly #db: Database.Database
  readonly #statements: ReturnType<typeof prepare>
  readonly #searches = new LRUCache<string, Database.Statement<unknown[], number>>({
    max: maxSearchStatements,
    memoMethod: sql => this.#db.prepare<unknown[], number>(sql).pluck()
  })

  /** The versions that the open transaction wrote and deleted, for the check at its end. */
  #touched = new Map<number, Version>()

  /** @param checksReferences whether each reference must lead to a resource that is there */
  constructor (file: string, private readonly checksReferences = true) {
    this.#db = openSqlite({ file, migrations })
    this.#statements = prepare(this.#db)
  }

  /**
   * Runs `work` wholly or not at all.
   * @throws {FhirError} when a reference would lead nowhere at its end; then nothing was done.
   */
  runInTransaction<T> (work: () => T): T {
    this.#touched = new Map()
    return this.#db.transaction(() => {
      const result = work()
      if (this.checksReferences) for (const version of this.#touched.values()) this.#checkReferences(version)
      return result
    }).immediate()
  }

  /** The newest version, which may be a deletion. */
  findCurrent (type: string, id: string): Version | undefined {
    return this.#statements.current.get(type, id)
  }

  findVersion (type: string, id: string, version: number): Version | undefined {
    return this.#statements.version.get(type, id, version)
  }

  /** All versions, the newest first. */
  listVersions (type: string, id: string): Version[] {
    return this.#statements.history.all(type, id)
  }

  /**
   * Stores the next version, with its searches and references; `resource` says id, version and time. Inside {@link
   * transaction} only.
   */
  write (resource: StoredResource, method: 'POST' | 'PUT'): Version {
    const version = Number(resource.meta.versionId)
    const text = printJson(resource)
    const pk = this.#add({
      type: resource.resourceType,
      id: resource.id,
      version,
      method,
      at: String(resource.meta.lastUpdated),
      text
    })
    for (const link of collectLinks(resource)) this.#statements.addLink.run(pk, link.type, link.id)
    for (const row of buildIndexRows(resource)) {
      this.#statements.addRow.run(
        pk,
        `${resource.resourceType}.${row.parameter}`,
        row.system,
        row.value,
        row.low,
        row.high
      )
    }
    return this.#touch(resource)
  }

  /** Stores a deletion as the next version. Inside {@link runInTransaction} only. */
  remove (current: Version, at: string): void {
    this.#add({ ...current, version: current.version + 1, method: 'DELETE', at })
    this.#touch({ resourceType: current.type, id: current.id })
  }

  /** The keys of the resources of a type that meet all conditions, in order. */
  find (type: string, conditions: readonly Condition[], order: readonly Condition[]): number[] {
    const where = ['r.type = ?', 'r.deleted = 0', ...conditions.map(condition => condition.sql)].join(' AND ')
    const orderBy = [...order.map(condition => condition.sql), 'r.pk'].join(', ')
    const args = [...conditions, ...order].flatMap(condition => condition.args)
    return this.#searches.memo(`SELECT r.pk FROM resource r WHERE ${where} ORDER BY ${orderBy}`).all(type, ...args)
  }

  /** The newest versions of the resources with these keys, in the order of the keys. */
  load (keys: readonly number[]): Version[] {
    return keys.map(pk => this.#statements.byKey.get(pk)).filter(version => version !== undefined)
  }

  /**
   * The keys of the living resources that those with the given keys point to by a parameter: `Observation.subject`.
   */
  findTargets (keys: readonly number[], parameter: string, type: string | undefined): number[] {
    return this.#statements.targets.all({ keys: JSON.stringify(keys), parameter, type: type ?? null })
  }

  /** The keys of the resources that point to those with the given keys by a parameter. */
  findSources (keys: readonly number[], parameter: string, type: string | undefined): number[] {
    return this.#statements.sources.all({ keys: JSON.stringify(keys), parameter, type: type ?? null })
  }

  close (): void {
    this.#db.close()
  }

  #add (row: Omit<Version, 'pk'>): number {
    const pk = this.#statements.addResource.get(
      row.type,
      row.id,
      row.version,
      Number(row.method === 'DELETE')
    ) as number
    this.#statements.addVersion.run(pk, row.version, row.method, row.at, row.text)
    this.#statements.dropRows.run(pk)
    this.#statements.dropLinks.run(pk)
    return pk
  }

  #touch ({ resourceType, id }: Pick<StoredResource, 'resourceType' | 'id'>): Version {
    const version = this.findCurrent(resourceType, id) as Version
    this.#touched.set(version.pk, version)
    return version
  }

  #checkReferences ({ pk, type, id, method }: Version): void {
    if (method !== 'DELETE' && this.#statements.brokenLink.get(pk) !== undefined) {
      throw new FhirError(400, 'processing', 'a reference points to a resource that does not exist')
    }
    if (method === 'DELETE' && this.#statements.linkTo.get(type, id) !== undefined) {
      throw new FhirError(409, 'conflict', 'another resource still refers to this one')
    }
  }
}

/** `keys` is a JSON array; `type`, when present, is that of the resource pointed to. */
interface Hop { keys: string, parameter: string, type: string | null }

function prepare (db: Database.Database) {
  const prepareVersions = <Args extends unknown[]>(sql: string) => db.prepare<Args, Version>(`${columns} ${sql}`)
  return {
    current: prepareVersions<[string, string]>('AND v.version = r.version WHERE r.type = ? AND r.id = ?'),
    byKey: prepareVersions<[number]>('AND v.version = r.version WHERE r.pk = ?'),
    version: prepareVersions<[string, string, number]>('WHERE r.type = ? AND r.id = ? AND v.version = ?'),
    history: prepareVersions<[string, string]>('WHERE r.type = ? AND r.id = ? ORDER BY v.version DESC'),
    addResource: db
      .prepare<[string, string, number, number]>(
        `
      INSERT INTO resource (type, id, version, deleted) VALUES (?, ?, ?, ?)
      ON CONFLICT (type, id) DO UPDATE SET version = excluded.version, deleted = excluded.deleted RETURNING pk`
      )
      .pluck(),
    addVersion: db.prepare('INSERT INTO version (pk, version, method, at, text) VALUES (?, ?, ?, ?, ?)'),
    addRow: db.prepare('INSERT INTO search_index (pk, parameter, system, value, low, high) VALUES (?, ?, ?, ?, ?, ?)'),
    addLink: db.prepare('INSERT INTO link (source, type, id) VALUES (?, ?, ?)'),
    dropRows: db.prepare('DELETE FROM search_index WHERE pk = ?'),
    dropLinks: db.prepare('DELETE FROM link WHERE source = ?'),
    // As HAPI does, only a reference that a search parameter follows holds a resource.
    linkTo: db.prepare(`
      SELECT 1 FROM link l WHERE l.type = ? AND l.id = ? AND EXISTS (
        SELECT 1 FROM search_index i WHERE i.pk = l.source AND i.system = l.type AND i.value = l.id
      ) LIMIT 1`),
    brokenLink: db.prepare(`
      SELECT 1 FROM link l LEFT JOIN resource r ON r.type = l.type AND r.id = l.id AND r.deleted = 0
      WHERE l.source = ? AND r.pk IS NULL LIMIT 1`),
    // The order and the index are given: from the few keys on, not through all resources that have the parameter.
    targets: db
      .prepare<Hop, number>(
        `
      SELECT DISTINCT r.pk FROM json_each(@keys) k
      CROSS JOIN search_index i INDEXED BY search_index_by_pk ON i.pk = k.value AND i.parameter = @parameter AND i.system = coalesce(@type, i.system)
      CROSS JOIN resource r ON r.type = i.system AND r.id = i.value AND r.deleted = 0`
      )
      .pluck(),
    sources: db
      .prepare<Hop, number>(
        `
      SELECT DISTINCT i.pk FROM json_each(@keys) k
      CROSS JOIN resource r ON r.pk = k.value AND r.type = coalesce(@type, r.type)
      CROSS JOIN search_index i ON i.parameter = @parameter AND i.value = r.id AND i.system = r.type`
      )
      .pluck()
  }
}
