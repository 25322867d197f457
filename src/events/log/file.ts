import type Database from 'better-sqlite3'
import { openSqlite } from '../../files/open-sqlite.js'
import type { BatchAck, NumberedBatch } from '../../outbox/batch.js'
import { BatchSeries, seriesSchema, unpackLines } from '../../outbox/series.js'
import type { ChangeEvent } from '../event.js'
import type { Intent } from '../intent.js'

const schema = `
  CREATE TABLE intents (id INTEGER PRIMARY KEY, content TEXT NOT NULL) STRICT;
  CREATE TABLE waiting (id INTEGER PRIMARY KEY, content TEXT NOT NULL) STRICT;`

/** How long to wait while another process has the file locked. */
const busyMs = 1_000

/** Something to write: that a change is about to be requested, or what became of it. */
export type LogEntry =
  | { readonly intent: number; readonly content: Intent }
  /** The events of an intent, none if nothing was changed. Unknown intents are ignored: they were concluded before. */
  | { readonly concluded: number; readonly events: readonly ChangeEvent[] }

/** The size of a log, and what it has yet to send and to find out. */
export interface LogState {
  /** What the file holds, without its free pages. */
  readonly bytes: number
  readonly intents: number
  /** When the oldest event was created that the control plane has not acknowledged; absent if it has all. */
  readonly oldestUnsent?: string
}

/** The log has reached its maximum size, and none of it may be deleted. */
class LogFullError extends Error {
  readonly code = 'EVENT_LOG_FULL'
}

/**
 * The event log of a gateway, on disk: intents until they are concluded, and events until the control plane has
 * acknowledged them and some days more. All methods throw if the disk fails.
 */
export class EventFile {
  readonly #database: Database.Database
  readonly #statements: ReturnType<typeof prepare>
  readonly #series: BatchSeries<ChangeEvent>

  /** Opens or creates the file. @throws {SchemaVersionError} */
  constructor (file: string) {
    this.#database = openSqlite({
      file,
      migrations: [`${schema} ${seriesSchema()}`],
      // A change that a client was told of must have its event after a power failure, too.
      synchronous: 'FULL',
      timeoutMs: busyMs
    })
    this.#statements = prepare(this.#database)
    this.#series = new BatchSeries(this.#database, { take: max => this.#take(max) })
  }

  /**
   * Writes all entries or none, in one transaction that is on the disk when it returns.
   * @throws {LogFullError} for intents while the log is larger; what concludes one is always written
   */
  write (entries: readonly LogEntry[], maxBytes: number): void {
    if (entries.some(entry => 'intent' in entry)) this.#requireRoom(maxBytes)
    this.#database.transaction(() => {
      for (const entry of entries) this.#writeEntry(entry)
    }).immediate()
  }

  /** The intents with these ids that are not concluded; without ids all, at most `max`, oldest first. */
  intents (ids: readonly number[] | undefined, max: number): ReadonlyArray<readonly [id: number, intent: Intent]> {
    const rows = (ids === undefined
      ? this.#statements.intents.all(max)
      : ids.slice(0, max).map(id => this.#statements.intent.get(id)).filter(row => row !== undefined)
    ) as IntentRow[]
    return rows.map(({ id, content }) => [id, JSON.parse(content)])
  }

  /** The ids of all intents that are not concluded. A new intent needs a higher one. */
  openIntents (): readonly number[] {
    return this.#statements.ids.all() as number[]
  }

  /** The records, as `Type/id`, of which a creation is written down and was not acknowledged before a time. */
  createdSince (time: Date): readonly string[] {
    const waiting = (this.#statements.waiting.all(-1) as IntentRow[]).map(({ content }) => JSON.parse(content))
    const batches = this.#statements.recentBatches.all(time.getTime()) as Buffer[]
    return [...waiting, ...batches.flatMap(content => unpackLines<ChangeEvent>(content))]
      .filter(({ type }: ChangeEvent) => type.endsWith('.created'))
      .map(({ resourceType, resourceId }: ChangeEvent) => `${resourceType}/${resourceId}`)
  }

  /** As {@link BatchSeries.next}. */
  nextBatch (maxLines: number): NumberedBatch<ChangeEvent> | undefined {
    return this.#series.next(maxLines)
  }

  /** As {@link BatchSeries.applyAck}. */
  applyAck (receipt: BatchAck, now: Date): void {
    this.#series.applyAck(receipt, now)
  }

  state (): LogState {
    const batch = this.#statements.unsentBatch.get() as Buffer | undefined
    const waiting = this.#statements.waiting.get(1) as IntentRow | undefined
    const oldest = batch !== undefined
      ? unpackLines<ChangeEvent>(batch)[0]
      : waiting && JSON.parse(waiting.content) as ChangeEvent
    return {
      bytes: this.#bytes(),
      intents: this.#statements.count.get() as number,
      ...oldest && { oldestUnsent: oldest.createdAt }
    }
  }

  close (): void {
    this.#database.close()
  }

  #writeEntry (entry: LogEntry): void {
    if ('intent' in entry) {
      this.#statements.begin.run(entry.intent, JSON.stringify(entry.content))
      return
    }
    if (this.#statements.conclude.run(entry.concluded).changes === 0) return
    for (const event of entry.events) this.#statements.add.run(JSON.stringify(event))
  }

  #take (max: number): readonly ChangeEvent[] {
    const rows = this.#statements.waiting.all(max) as IntentRow[]
    const last = rows.at(-1)
    if (last !== undefined) this.#statements.taken.run(last.id)
    return rows.map(({ content }) => JSON.parse(content))
  }

  /** Acknowledged batches are retained for a restored control plane only, and go first. */
  #requireRoom (maxBytes: number): void {
    while (this.#bytes() > maxBytes) {
      if (!this.#series.drop(Number.MAX_SAFE_INTEGER)) throw new LogFullError('the event log has its maximum size')
    }
  }

  #bytes (): number {
    const value = (name: string) => this.#database.pragma(name, { simple: true }) as number
    return (value('page_count') - value('freelist_count')) * value('page_size')
  }
}

interface IntentRow { readonly id: number, readonly content: string }

function prepare (database: Database.Database) {
  return {
    begin: database.prepare('INSERT INTO intents VALUES (?, ?)'),
    conclude: database.prepare('DELETE FROM intents WHERE id = ?'),
    intents: database.prepare('SELECT * FROM intents ORDER BY id LIMIT ?'),
    intent: database.prepare('SELECT * FROM intents WHERE id = ?'),
    ids: database.prepare('SELECT id FROM intents ORDER BY id').pluck(),
    count: database.prepare('SELECT count(*) FROM intents').pluck(),
    add: database.prepare('INSERT INTO waiting (content) VALUES (?)'),
    waiting: database.prepare('SELECT * FROM waiting ORDER BY id LIMIT ?'),
    taken: database.prepare('DELETE FROM waiting WHERE id <= ?'),
    recentBatches: database.prepare(
      'SELECT content FROM batches WHERE acknowledged_at IS NULL OR acknowledged_at >= ?'
    ).pluck(),
    unsentBatch: database.prepare(
      'SELECT content FROM batches WHERE acknowledged_at IS NULL ORDER BY number LIMIT 1'
    ).pluck()
  }
}
