import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type Database from 'better-sqlite3'
import { base32, randomString } from '../../keys/random-text.js'
import type { BatchAck, NumberedBatch, PrintedLines } from './batch.js'

/** How long an acknowledged batch is retained, in case the control plane is restored from an older backup. */
const batchRetentionMs = 3 * 24 * 3_600_000

/** Maximum number of old batches that are dropped in one transaction, so that it stays short. */
const droppedAtOnce = 20

/** The statements that make the tables of a series, with its name in the same transaction. */
export const buildSeriesSchema = (): string => `
  CREATE TABLE series (ledger_id TEXT NOT NULL, last_number INTEGER NOT NULL, written TEXT NOT NULL) STRICT;
  CREATE TABLE batches (number INTEGER PRIMARY KEY, batch_id TEXT NOT NULL, content BLOB NOT NULL, acknowledged_at INTEGER) STRICT;
  CREATE INDEX batches_by_age ON batches (acknowledged_at);
  INSERT INTO series VALUES ('${randomString(base32, 26)}', 0, '');`

/** The lines of a batch as they were stored. */
export const unpackLines = <Line>(content: Buffer): readonly Line[] => JSON.parse(unpack(content))

const unpack = (content: Buffer): string => inflateRawSync(content).toString()

interface SeriesRow {
  readonly ledger_id: string
  readonly last_number: number
}

interface BatchRow {
  readonly number: number
  readonly batch_id: string
  readonly content: Buffer
}

/** A batch as it was stored. */
export type StoredBatch = Omit<NumberedBatch<never>, 'lines'> & PrintedLines

/** The operations of a file on the lines of its batches. All of them run in the transaction that moves the batch. */
interface SeriesOptions<Line> {
  /** Removes at most so many lines from those that wait, and returns them; undefined if there are none. */
  readonly take: (max: number) => PrintedLines | undefined
  /** Called with the lines that the control plane acknowledged, or (-1) of which it lost that it had. */
  readonly onAcknowledged?: (lines: readonly Line[], sign: 1 | -1) => void
  /** Called with the lines of an old batch, which is then dropped. */
  readonly onDrop?: (lines: readonly Line[]) => void
}

/**
 * The numbered batches of a file that are sent to the control plane, each exactly once. A batch never changes: it is
 * formed only after the previous one was acknowledged, and stored before it is sent. Methods other than `next` and
 * `applyAck` are for use within a transaction of the file.
 */
export class BatchSeries<Line> {
  readonly #database: Database.Database
  readonly #statements: ReturnType<typeof prepare>
  readonly #options: SeriesOptions<Line>

  /** The database has the tables of {@link buildSeriesSchema}. */
  constructor (database: Database.Database, options: SeriesOptions<Line>) {
    this.#database = database
    this.#statements = prepare(database)
    this.#options = options
  }

  /** The first unacknowledged batch, or a new one of at most `maxLines` lines; undefined if no lines wait. */
  next (maxLines: number): NumberedBatch<Line> | undefined {
    const batch = this.nextAsJson(maxLines)
    if (batch === undefined) return undefined
    const { json, count: _, ...head } = batch
    return { ...head, lines: JSON.parse(json) }
  }

  /** The same, with its lines as JSON. */
  nextAsJson (maxLines: number): StoredBatch | undefined {
    return this.#database.transaction(() => this.#readFirstUnacknowledged() ?? this.#formBatch(maxLines)).immediate()
  }

  /**
   * Continues from the control plane's position. Batches that it has are acknowledged; those that it no longer has,
   * because it was restored from a backup, are sent again. If it has a batch that this file does not have, this file is
   * a copy or an old backup, and starts a new series.
   * @param onContinued runs in the same transaction if the receipt belongs to this series
   */
  applyAck (receipt: BatchAck, now: Date, onContinued: () => void = () => {}): void {
    this.#database.transaction(() => {
      if (!this.#isOwnReceipt(receipt)) this.#beginSeries()
      else {
        this.#acknowledge(receipt, now)
        onContinued()
        if (this.#withdraw(receipt) && !this.#hasBatch(receipt.number + 1)) this.#beginSeries()
      }
      this.drop(now.getTime() - batchRetentionMs)
    }).immediate()
  }

  /** Drops some batches that were acknowledged before a time. @returns whether there were any */
  drop (before: number): boolean {
    const old = this.#statements.old.all(before, droppedAtOnce) as BatchRow[]
    for (const { number, content } of old) {
      this.#options.onDrop?.(unpackLines(content))
      this.#statements.drop.run(number)
    }
    return old.length > 0
  }

  #readFirstUnacknowledged (): StoredBatch | undefined {
    const row = this.#statements.firstUnacknowledged.get() as BatchRow | undefined
    if (row === undefined) return undefined
    const json = unpack(row.content)
    const { length: count } = JSON.parse(json) as readonly Line[]
    return { ledgerId: this.#readSeries().ledger_id, number: row.number, batchId: row.batch_id, json, count }
  }

  #formBatch (maxLines: number): StoredBatch | undefined {
    const lines = this.#options.take(maxLines)
    if (lines === undefined) return undefined
    const { ledger_id: ledgerId, last_number: last } = this.#readSeries()
    const batch = { ledgerId, number: last + 1, batchId: randomString(base32, 26), ...lines }
    this.#statements.add.run(batch.number, batch.batchId, deflateRawSync(lines.json, { level: 1 }))
    this.#statements.count.run(batch.number)
    return batch
  }

  #acknowledge ({ number }: BatchAck, now: Date): void {
    this.#notify(this.#statements.unacknowledged.all(number) as BatchRow[], 1)
    this.#statements.acknowledge.run(now.getTime(), number)
  }

  /** @returns whether the control plane lost batches that it had acknowledged */
  #withdraw ({ number }: BatchAck): boolean {
    this.#notify(this.#statements.acknowledgedAfter.all(number) as BatchRow[], -1)
    return this.#statements.unacknowledge.run(number).changes > 0
  }

  #notify (rows: readonly BatchRow[], sign: 1 | -1): void {
    const { onAcknowledged } = this.#options
    if (onAcknowledged !== undefined) for (const { content } of rows) onAcknowledged(unpackLines(content), sign)
  }

  #isOwnReceipt ({ number, batchId }: BatchAck): boolean {
    return number === 0 || (this.#statements.idOf.get(number) as string | undefined) === batchId
  }

  #hasBatch (number: number): boolean {
    return this.#statements.idOf.get(number) !== undefined
  }

  #readSeries (): SeriesRow {
    return this.#statements.series.get() as SeriesRow
  }

  /**
   * Starts a new series with the batches that are still to be sent. The others get numbers below 1, which have no
   * meaning.
   */
  #beginSeries (): void {
    this.#statements.retire.run()
    this.#statements.renumber.run()
    this.#statements.restart.run(randomString(base32, 26))
  }
}

function prepare (database: Database.Database) {
  return {
    series: database.prepare('SELECT ledger_id, last_number FROM series'),
    count: database.prepare('UPDATE series SET last_number = ?'),
    restart: database.prepare(
      'UPDATE series SET ledger_id = ?, last_number = (SELECT coalesce(max(0, max(number)), 0) FROM batches)'
    ),
    add: database.prepare('INSERT INTO batches (number, batch_id, content) VALUES (?, ?, ?)'),
    firstUnacknowledged: database.prepare(
      'SELECT * FROM batches WHERE acknowledged_at IS NULL ORDER BY number LIMIT 1'
    ),
    idOf: database.prepare('SELECT batch_id FROM batches WHERE number = ?').pluck(),
    acknowledge: database.prepare(
      'UPDATE batches SET acknowledged_at = ? WHERE acknowledged_at IS NULL AND number <= ?'
    ),
    unacknowledge: database.prepare('UPDATE batches SET acknowledged_at = NULL WHERE number > ?'),
    old: database.prepare('SELECT * FROM batches WHERE acknowledged_at < ? ORDER BY number LIMIT ?'),
    retire: database.prepare(`
      UPDATE batches SET number = number - (SELECT max(number) - min(0, min(number)) + 1 FROM batches)
      WHERE number > 0 AND acknowledged_at IS NOT NULL`),
    renumber: database.prepare(
      'UPDATE batches SET number = number + 1 - (SELECT min(number) FROM batches WHERE number > 0) WHERE number > 0'
    ),
    drop: database.prepare('DELETE FROM batches WHERE number = ?'),
    unacknowledged: database.prepare('SELECT * FROM batches WHERE acknowledged_at IS NULL AND number <= ?'),
    acknowledgedAfter: database.prepare('SELECT * FROM batches WHERE acknowledged_at IS NOT NULL AND number > ?')
  }
}
