import Database from 'better-sqlite3'
import { base32, randomString } from '../../keys/random-text.js'
import { openSqlite } from '../../files/open-sqlite.js'
import { monthOf } from '../month.js'
import type { UsageBatch, UsageLine, UsageAck } from '../usage.js'
import { schema, type SeriesRow, type BatchRow, type LineRow, packed, unpacked, inMonth, rowOf, lineOf, shown, adding } from './file-rows.js'

const dayMs = 24 * 3_600_000

/** How long an acknowledged batch is retained, in case the control plane is restored from an older backup. */
const batchRetentionMs = 3 * dayMs

/** How long hourly totals are retained: long enough to recompute a bill of thirteen months ago. */
const totalRetentionMs = 400 * dayMs

/** How long monthly counts are retained: the month itself and some days more, since clocks differ. */
const monthRetentionMs = 40 * dayMs

/** Maximum number of old batches that are folded into totals in one transaction, so that it stays short. */
const foldedAtOnce = 20

/** How long to wait while another process has the file locked. A failed write is repeated. */
const busyMs = 1_000

/** Lines to be written exactly once, even if the write is retried. The name identifies the flush. */
export interface FlushBatch {
  readonly name: string
  readonly lines: readonly UsageLine[]
}

/**
 * The usage that a gateway counted, on disk. Each line is in one table at a time: `waiting` until a batch is formed,
 * then `batches` and, some days after the control plane acknowledged the batch, the hourly `totals`. All methods throw
 * if the disk fails.
 */
export class LedgerFile {
  readonly #database: Database.Database
  readonly #statements: ReturnType<typeof prepare>

  /** Opens or creates the file. @throws {SchemaVersionError} */
  constructor (file: string) {
    this.#database = openSqlite({
      file,
      // With its name in the same transaction, since the month's counts are read as soon as there are tables.
      migrations: [`${schema} INSERT INTO series VALUES ('${randomString(base32, 26)}', 0, '')`],
      // A power failure may lose the last second, but never a batch that the control plane has.
      synchronous: 'FULL',
      timeoutMs: busyMs
    })
    this.#statements = prepare(this.#database)
  }

  /** Adds all lines or none. A flush that was already written, although the write seemed to fail, is ignored. */
  add ({ name, lines }: FlushBatch): void {
    this.#inTransaction(() => {
      if (this.#series().written === name) return
      for (const line of lines) {
        this.#statements.await.run(rowOf(line))
        if (line.isCounted) this.#statements.own.run(inMonth(line))
      }
      this.#statements.mark.run(name)
    })
  }

  /** The first unacknowledged batch, or a new one of at most `maxLines` lines; undefined if no lines wait. */
  nextBatch (maxLines: number): UsageBatch | undefined {
    return this.#inTransaction(() => this.#firstUnacknowledged() ?? this.#formed(maxLines))
  }

  /**
   * Continues from the control plane's position. Batches that it has are acknowledged; those that it no longer has,
   * because it was restored from a backup, are sent again. If it has a batch that this file does not have, this file is
   * a copy or an old backup, and starts a new series.
   */
  applyAck (receipt: UsageAck, now: Date): void {
    this.#inTransaction(() => {
      if (!this.#continues(receipt)) this.#beginSeries()
      else {
        this.#acknowledge(receipt, now)
        if (this.#withdraw(receipt) && !this.#holds(receipt.number + 1)) this.#beginSeries()
      }
      const old = this.#statements.old.all(now.getTime() - batchRetentionMs, foldedAtOnce)
      for (const row of old as BatchRow[]) this.#fold(row)
      this.#statements.forget.run(new Date(now.getTime() - totalRetentionMs).toISOString())
      this.#statements.forgetMonths.run(monthOf(new Date(now.getTime() - monthRetentionMs).toISOString()))
    })
  }

  close (): void {
    this.#database.close()
  }

  #inTransaction<T> (work: () => T): T {
    return this.#database.transaction(work).immediate()
  }

  #series (): SeriesRow {
    return this.#statements.series.get() as SeriesRow
  }

  #firstUnacknowledged (): UsageBatch | undefined {
    const row = this.#statements.firstUnacknowledged.get() as BatchRow | undefined
    return row &&
      { ledgerId: this.#series().ledger_id, number: row.number, batchId: row.batch_id, lines: unpacked(row.content) }
  }

  #formed (maxLines: number): UsageBatch | undefined {
    const rows = this.#statements.waiting.all(maxLines) as LineRow[]
    if (rows.length === 0) return undefined
    for (const row of rows) this.#statements.leave.run(row)
    const { ledger_id: ledgerId, last_number: last } = this.#series()
    const batch = { ledgerId, number: last + 1, batchId: randomString(base32, 26), lines: rows.map(lineOf) }
    this.#statements.isRetained.run(batch.number, batch.batchId, packed(batch.lines))
    this.#statements.count.run(batch.number)
    return batch
  }

  /** Stores the counts of each month, reported here and of all gateways. The difference is the others' count. */
  #acknowledge ({ number, months = [] }: UsageAck, now: Date): void {
    const unacknowledged = this.#statements.unacknowledged.all(number) as BatchRow[]
    for (const { content } of unacknowledged) this.#notify(unpacked(content), 1)
    this.#statements.acknowledge.run(now.getTime(), number)
    for (const { counted, ...pool } of months) this.#statements.learn.run({ ...pool, counted })
  }

  /** @returns whether the control plane lost batches that it had acknowledged */
  #withdraw ({ number }: UsageAck): boolean {
    const acknowledged = this.#statements.acknowledgedAfter.all(number) as BatchRow[]
    for (const { content } of acknowledged) this.#notify(unpacked(content), -1)
    return this.#statements.unacknowledge.run(number).changes > 0
  }

  #notify (lines: readonly UsageLine[], sign: 1 | -1): void {
    const counted = lines.filter(({ isCounted }) => isCounted)
    for (const line of counted) this.#statements.reported.run({ ...inMonth(line), count: sign * line.count })
  }

  #continues ({ number, batchId }: UsageAck): boolean {
    return number === 0 || (this.#statements.idOf.get(number) as string | undefined) === batchId
  }

  #holds (number: number): boolean {
    return this.#statements.idOf.get(number) !== undefined
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

  #fold ({ number, content }: BatchRow): void {
    for (const line of unpacked(content)) this.#statements.total.run(rowOf(line))
    this.#statements.drop.run(number)
  }
}

/**
 * All lines in the ledger of a gateway, or only those that the control plane has not acknowledged. The gateway may be
 * running. Several lines may differ only in the count.
 */
export function ledgerLines (file: string, which: 'all' | 'unsent' = 'all'): readonly UsageLine[] {
  const database = new Database(file, { readonly: true, fileMustExist: true })
  const [tables, condition] = which === 'all'
    ? [['waiting', 'totals'], '']
    : [['waiting'], 'WHERE acknowledged_at IS NULL']
  try {
    const read = database.transaction(() => [...tables.flatMap(table =>
      database.prepare(`SELECT ${shown} FROM ${table}`).all() as LineRow[]
    ).map(lineOf),
    ...(database.prepare(`SELECT content FROM batches ${condition}`).pluck().all() as Buffer[]).flatMap(unpacked)]
    )
    return read.deferred()
  } finally {
    database.close()
  }
}

function prepare (database: Database.Database) {
  return {
    series: database.prepare('SELECT * FROM series'),
    mark: database.prepare('UPDATE series SET written = ?'),
    count: database.prepare('UPDATE series SET last_number = ?'),
    restart: database.prepare(
      'UPDATE series SET ledger_id = ?, last_number = (SELECT coalesce(max(0, max(number)), 0) FROM batches)'
    ),
    await: database.prepare(adding('waiting')),
    total: database.prepare(adding('totals')),
    waiting: database.prepare(`SELECT ${shown} FROM waiting LIMIT ?`),
    leave: database.prepare(`
      DELETE FROM waiting WHERE key_id = :keyId AND hour = :hour AND resource = :resource AND interaction = :interaction
      AND outcome = :outcome AND is_counted = :isCounted AND is_overage = :isOverage`),
    isRetained: database.prepare('INSERT INTO batches (number, batch_id, content) VALUES (?, ?, ?)'),
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
    forget: database.prepare('DELETE FROM totals WHERE hour < ?'),
    unacknowledged: database.prepare('SELECT * FROM batches WHERE acknowledged_at IS NULL AND number <= ?'),
    acknowledgedAfter: database.prepare('SELECT * FROM batches WHERE acknowledged_at IS NOT NULL AND number > ?'),
    own: database.prepare(`
      INSERT INTO months (tenant_id, mode, month, own) VALUES (:tenantId, :mode, :month, :count) ON CONFLICT DO UPDATE SET own = own + :count`),
    reported: database.prepare(`
      INSERT INTO months (tenant_id, mode, month, told) VALUES (:tenantId, :mode, :month, :count) ON CONFLICT DO UPDATE SET told = told + :count`),
    learn: database.prepare(`
      INSERT INTO months (tenant_id, mode, month, others) VALUES (:tenantId, :mode, :month, :counted)
      ON CONFLICT DO UPDATE SET others = max(0, :counted - told)`),
    forgetMonths: database.prepare('DELETE FROM months WHERE month < ?')
  }
}
