import { copyFileSync, rmSync, statSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { openSqlite } from '../../files/open-sqlite.js'
import type { BatchAck, PrintedLines } from '../../control-plane/outbox/batch.js'
import { BatchSeries, buildSeriesSchema, unpackLines, type StoredBatch } from '../../control-plane/outbox/series.js'
import type { ChangeEvent } from '../event.js'
import type { Intent } from '../intent.js'
import { toJournalPath, listJournalFiles, readEntries, type JournalEnd } from './journal-files.js'

const schema = `
  CREATE TABLE intents (id INTEGER PRIMARY KEY, content TEXT NOT NULL) STRICT;
  CREATE TABLE waiting (id INTEGER PRIMARY KEY, content TEXT NOT NULL) STRICT;`

/** How far the journal was taken. A row of `waiting` has some events, with commas between them. */
const journalSchema = `
  ALTER TABLE waiting ADD COLUMN events INTEGER NOT NULL DEFAULT 1;
  CREATE TABLE journal (number INTEGER NOT NULL, position INTEGER NOT NULL) STRICT;
  INSERT INTO journal VALUES (0, 0);`

/** The maximum number of events in a row, unless one request changed more. */
const eventsPerRow = 500

/** How long to wait while another process has the file locked. */
const busyMs = 1_000

/** The size of a log, and what it has yet to send and to find out. */
export interface LogState {
  /** The size of the file's content, without its free pages. */
  readonly bytes: number
  readonly intents: number
  /** When the oldest event was created that the control plane has not acknowledged; absent if it has all. */
  readonly oldestUnsent?: string
}

/** The state that an earlier process left. */
export interface OpenedLog {
  /** The ids of all intents that are not concluded. A new intent needs a higher one. */
  readonly intents: readonly number[]
  /** The number of a journal file that there has not been yet. */
  readonly journal: number
}

/**
 * The event log of a gateway, apart from the newest entries of its journal: intents until they are concluded, and
 * events until the control plane has acknowledged them and some days more. Each method takes those entries first, up
 * to the end of the journal that it is given. All methods throw if the disk fails.
 */
export class EventFile {
  readonly #path: string
  readonly #database: Database.Database
  readonly #statements: ReturnType<typeof prepare>
  readonly #series: BatchSeries<ChangeEvent>

  /** Opens or creates the file. @throws {SchemaVersionError} */
  constructor (path: string) {
    this.#path = path
    this.#database = openSqlite({
      file: path,
      migrations: [`${schema} ${buildSeriesSchema()}`, journalSchema],
      // A journal file is deleted when its entries are here, which a power failure must not undo.
      synchronous: 'FULL',
      timeoutMs: busyMs
    })
    // Files of a journal that another process writes look complete, and would be taken and deleted.
    this.#database.pragma('locking_mode = EXCLUSIVE')
    this.#statements = prepare(this.#database)
    this.#series = new BatchSeries(this.#database, { take: max => this.#take(max) })
  }

  /** Takes all that earlier processes wrote. */
  openLog (): OpenedLog {
    const numbers = listJournalFiles(this.#path)
    return this.#withJournal(undefined, () => {
      const { number } = this.#statements.journal.get() as JournalRow
      return { intents: this.#statements.ids.all() as number[], journal: Math.max(number, ...numbers) + 1 }
    })
  }

  /** The intents with these ids that are not concluded, at most `max`, in the same order. */
  intents (
    end: JournalEnd, ids: readonly number[], max: number
  ): ReadonlyArray<readonly [id: number, intent: Intent]> {
    const rows = this.#withJournal(end, () => ids.map(id => this.#statements.intent.get(id) as IntentRow | undefined))
    return rows.filter(row => row !== undefined).slice(0, max).map(({ id, content }) => [id, JSON.parse(content)])
  }

  /** The records, as `Type/id`, of which a creation is written down and was not acknowledged before a time. */
  createdSince (end: JournalEnd, time: Date): readonly string[] {
    const waiting = this.#withJournal(end, () => this.#statements.waiting.all() as WaitingRow[]).flatMap(parseRow)
    const batches = this.#statements.recentBatches.all(time.getTime()) as Buffer[]
    return [...waiting, ...batches.flatMap(content => unpackLines<ChangeEvent>(content))]
      .filter(({ type }: ChangeEvent) => type.endsWith('.created'))
      .map(({ resourceType, resourceId }: ChangeEvent) => `${resourceType}/${resourceId}`)
  }

  /** As {@link BatchSeries.nextAsJson}. */
  nextBatch (end: JournalEnd, maxLines: number): StoredBatch | undefined {
    return this.#withJournal(end, () => this.#series.nextAsJson(maxLines))
  }

  /** As {@link BatchSeries.applyAck}. */
  applyAck (receipt: BatchAck, now: Date): void {
    this.#series.applyAck(receipt, now)
  }

  state (end: JournalEnd): LogState {
    const batch = this.#withJournal(end, () => this.#statements.unsentBatch.get() as Buffer | undefined)
    const waiting = this.#statements.oldest.get() as WaitingRow | undefined
    const oldest = batch !== undefined ? unpackLines<ChangeEvent>(batch)[0] : waiting && parseRow(waiting)[0]
    return {
      bytes: this.#measureBytes(),
      intents: this.#statements.count.get() as number,
      ...oldest && { oldestUnsent: oldest.createdAt }
    }
  }

  /**
   * Drops acknowledged batches, which are retained for a restored control plane only, while the log is larger.
   * @returns its size afterwards
   */
  makeRoom (end: JournalEnd, maxBytes: number): number {
    this.#withJournal(end, () => {
      while (this.#measureBytes() > maxBytes && this.#series.drop(Number.MAX_SAFE_INTEGER));
    })
    return this.#measureBytes()
  }

  close (): void {
    this.#database.close()
  }

  /**
   * Takes the entries of the journal that were not taken yet, without an end those of all files, and then acts, in one
   * transaction: it waits for the disk once.
   */
  #withJournal<T> (end: JournalEnd | undefined, act: () => T): T {
    const complete: string[] = []
    const result = this.#database.transaction(() => {
      const { number: current, position } = this.#statements.journal.get() as JournalRow
      for (const number of listJournalFiles(this.#path)) {
        if (end !== undefined && number > end.number) break
        const file = toJournalPath(this.#path, number)
        const isComplete = number !== end?.number
        if (isComplete) complete.push(file)
        if (number < current) continue
        const from = number === current ? position : 0
        const read = readEntries(file, from, isComplete ? undefined : end.size)
        if (read.end > from) this.#takeEntries(read.entries, { number, position: read.end })
        // The file is deleted later, and it may hold the only copy of its content.
        if (read.isDamaged && isComplete) copyFileSync(file, `${this.#path}.broken-${number}`)
      }
      return act()
    }).immediate()
    for (const file of complete) rmSync(file)
    return result
  }

  #takeEntries (entries: ReturnType<typeof readEntries>['entries'], { number, position }: JournalRow): void {
    const { begin, conclude, taken } = this.#statements
    const open = new Map<number, string>()
    const concluded: number[] = []
    const rows = new EventRows()
    for (const entry of entries) {
      if (entry.kind === 'intent') open.set(entry.id, entry.content)
      else {
        if (!open.delete(entry.id)) concluded.push(entry.id)
        if (entry.count > 0) rows.add(entry.events, entry.count)
      }
    }
    for (const [id, content] of open) begin.run(id, content)
    for (const id of concluded) conclude.run(id)
    for (const { content, events } of rows.all) this.#statements.add.run(content, events)
    taken.run(number, position)
  }

  #take (max: number): PrintedLines | undefined {
    const contents: string[] = []
    let [count, last] = [0, 0]
    for (const { id, content, events } of this.#statements.waiting.iterate() as IterableIterator<WaitingRow>) {
      if (count > 0 && count + events > max) break
      contents.push(content)
      count += events
      last = id
    }
    if (count === 0) return undefined
    this.#statements.sent.run(last)
    return { json: `[${contents.join(',')}]`, count }
  }

  #measureBytes (): number {
    const readPragma = (name: string) => this.#database.pragma(name, { simple: true }) as number
    const journal = listJournalFiles(this.#path).map(number => statSync(toJournalPath(this.#path, number)).size)
    return (
      (readPragma('page_count') - readPragma('freelist_count')) * readPragma('page_size') +
      journal.reduce((a, b) => a + b, 0)
    )
  }
}

/** Collects events into rows. */
class EventRows {
  readonly all: Array<{ content: string, events: number }> = []

  add (content: string, events: number): void {
    const last = this.all.at(-1)
    if (last === undefined || last.events + events > eventsPerRow) this.all.push({ content, events })
    else {
      last.content += `,${content}`
      last.events += events
    }
  }
}

interface IntentRow { readonly id: number, readonly content: string }

interface WaitingRow extends IntentRow { readonly events: number }

interface JournalRow { readonly number: number, readonly position: number }

const parseRow = ({ content }: WaitingRow): readonly ChangeEvent[] => JSON.parse(`[${content}]`)

function prepare (database: Database.Database) {
  return {
    begin: database.prepare('INSERT OR REPLACE INTO intents VALUES (?, ?)'),
    conclude: database.prepare('DELETE FROM intents WHERE id = ?'),
    intent: database.prepare('SELECT * FROM intents WHERE id = ?'),
    ids: database.prepare('SELECT id FROM intents ORDER BY id').pluck(),
    count: database.prepare('SELECT count(*) FROM intents').pluck(),
    add: database.prepare('INSERT INTO waiting (content, events) VALUES (?, ?)'),
    waiting: database.prepare('SELECT * FROM waiting ORDER BY id'),
    oldest: database.prepare('SELECT * FROM waiting ORDER BY id LIMIT 1'),
    sent: database.prepare('DELETE FROM waiting WHERE id <= ?'),
    journal: database.prepare('SELECT * FROM journal'),
    taken: database.prepare('UPDATE journal SET number = ?, position = ?'),
    recentBatches: database.prepare(
      'SELECT content FROM batches WHERE acknowledged_at IS NULL OR acknowledged_at >= ?'
    ).pluck(),
    unsentBatch: database.prepare(
      'SELECT content FROM batches WHERE acknowledged_at IS NULL ORDER BY number LIMIT 1'
    ).pluck()
  }
}
