import Database from 'better-sqlite3'
import { openSqlite } from '../../files/open-sqlite.js'
import { BatchSeries, buildSeriesSchema, unpackLines } from '../../control-plane/outbox/series.js'
import { toMonth } from '../month.js'
import type { UsageBatch, UsageLine, UsageAck } from '../usage.js'

const columns = `
  key_id TEXT NOT NULL, tenant_id TEXT NOT NULL, mode TEXT NOT NULL, hour TEXT NOT NULL, resource TEXT NOT NULL,
  interaction TEXT NOT NULL, outcome TEXT NOT NULL, is_counted INTEGER NOT NULL, is_overage INTEGER NOT NULL,
  count INTEGER NOT NULL, last_at TEXT NOT NULL,
  PRIMARY KEY (key_id, hour, resource, interaction, outcome, is_counted, is_overage)`

const schema = `
  CREATE TABLE waiting (${columns}) STRICT, WITHOUT ROWID;
  CREATE TABLE totals (${columns}) STRICT, WITHOUT ROWID;
  CREATE INDEX totals_by_age ON totals (hour);
  CREATE TABLE months (
    tenant_id TEXT NOT NULL, mode TEXT NOT NULL, month TEXT NOT NULL,
    own INTEGER NOT NULL DEFAULT 0, told INTEGER NOT NULL DEFAULT 0, others INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant_id, mode, month)) STRICT, WITHOUT ROWID;`

interface LineRow extends Omit<UsageLine, 'isCounted' | 'isOverage'> {
  readonly isCounted: number
  readonly isOverage: number
}

const toMonthRow = ({ tenantId, mode, hour, count }: UsageLine) => ({ tenantId, mode, month: toMonth(hour), count })

const toRow = (line: UsageLine): LineRow => ({
  ...line,
  isCounted: Number(line.isCounted),
  isOverage: Number(line.isOverage)
})

const toLine = (row: LineRow): UsageLine => ({
  ...row, isCounted: row.isCounted === 1, isOverage: row.isOverage === 1
})

const selectedColumns = `
  key_id AS keyId, tenant_id AS tenantId, mode, hour, resource, interaction, outcome,
  is_counted AS isCounted, is_overage AS isOverage, count, last_at AS lastAt`

const buildUpsert = (table: string) => `
  INSERT INTO ${table} VALUES (:keyId, :tenantId, :mode, :hour, :resource, :interaction, :outcome, :isCounted, :isOverage, :count, :lastAt)
  ON CONFLICT DO UPDATE SET count = count + excluded.count, last_at = max(last_at, excluded.last_at)`

const dayMs = 24 * 3_600_000

/** How long hourly totals are retained: long enough to recompute a bill of thirteen months ago. */
const totalRetentionMs = 400 * dayMs

/** How long monthly counts are retained: the month itself and some days more, since clocks differ. */
const monthRetentionMs = 40 * dayMs

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
  readonly #series: BatchSeries<UsageLine>

  /** Opens or creates the file. @throws {SchemaVersionError} */
  constructor (file: string) {
    this.#database = openSqlite({
      file,
      // With its name in the same transaction, since the month's counts are read as soon as there are tables.
      migrations: [`${schema} ${buildSeriesSchema()}`],
      // A power failure may lose the last second, but never a batch that the control plane has.
      synchronous: 'FULL',
      timeoutMs: busyMs
    })
    this.#statements = prepare(this.#database)
    this.#series = new BatchSeries(this.#database, {
      take: max => {
        const lines = this.#take(max)
        return lines.length === 0 ? undefined : { json: JSON.stringify(lines), count: lines.length }
      },
      onAcknowledged: (lines, sign) => this.#notify(lines, sign),
      onDrop: lines => { for (const line of lines) this.#statements.total.run(toRow(line)) }
    })
  }

  /** Adds all lines or none. A flush that was already written, although the write seemed to fail, is ignored. */
  add ({ name, lines }: FlushBatch): void {
    this.#runInTransaction(() => {
      if (this.#statements.written.get() === name) return
      for (const line of lines) {
        this.#statements.await.run(toRow(line))
        if (line.isCounted) this.#statements.own.run(toMonthRow(line))
      }
      this.#statements.mark.run(name)
    })
  }

  /** As {@link BatchSeries.next}. */
  nextBatch (maxLines: number): UsageBatch | undefined {
    return this.#series.next(maxLines)
  }

  /**
   * As {@link BatchSeries.applyAck}. The counts of all gateways in each month are stored with it; the difference to
   * what was reported here is the others' count.
   */
  applyAck (receipt: UsageAck, now: Date): void {
    this.#runInTransaction(() => {
      this.#series.applyAck(receipt, now, () => {
        for (const { counted, ...pool } of receipt.months ?? []) this.#statements.learn.run({ ...pool, counted })
      })
      this.#statements.forget.run(new Date(now.getTime() - totalRetentionMs).toISOString())
      this.#statements.forgetMonths.run(toMonth(new Date(now.getTime() - monthRetentionMs).toISOString()))
    })
  }

  close (): void {
    this.#database.close()
  }

  #runInTransaction<T> (work: () => T): T {
    return this.#database.transaction(work).immediate()
  }

  #take (maxLines: number): readonly UsageLine[] {
    const rows = this.#statements.waiting.all(maxLines) as LineRow[]
    for (const row of rows) this.#statements.leave.run(row)
    return rows.map(toLine)
  }

  #notify (lines: readonly UsageLine[], sign: 1 | -1): void {
    const counted = lines.filter(({ isCounted }) => isCounted)
    for (const line of counted) this.#statements.reported.run({ ...toMonthRow(line), count: sign * line.count })
  }
}

/**
 * All lines in the ledger of a gateway, or only those that the control plane has not acknowledged. The gateway may be
 * running. Several lines may differ only in the count.
 */
export function readLedgerLines (file: string, which: 'all' | 'unsent' = 'all'): readonly UsageLine[] {
  const database = new Database(file, { readonly: true, fileMustExist: true })
  const [tables, condition] = which === 'all'
    ? [['waiting', 'totals'], '']
    : [['waiting'], 'WHERE acknowledged_at IS NULL']
  try {
    const read = database.transaction(() => [...tables.flatMap(table =>
      database.prepare(`SELECT ${selectedColumns} FROM ${table}`).all() as LineRow[]
    ).map(toLine),
    ...(database.prepare(`SELECT content FROM batches ${condition}`).pluck().all() as Buffer[]).flatMap(content => unpackLines<UsageLine>(content))]
    )
    return read.deferred()
  } finally {
    database.close()
  }
}

/** The hours that begin from one time until before another one, both ISO 8601 in UTC. */
interface HourRange { readonly from: string, readonly to: string }

/** The sums of a gateway's ledger, one line for each combination of all members but `count` and `lastAt`. */
interface LedgerTotals { readonly ledgerId: string, readonly lines: readonly UsageLine[] }

/**
 * The counts of a ledger in a range of hours, in the order of hours. Memory is bounded by the lines of that range. The
 * gateway may be running.
 */
export function readLedgerTotals (file: string, { from, to }: HourRange): LedgerTotals {
  const database = new Database(file, { readonly: true, fileMustExist: true })
  try {
    return database.transaction(() => {
      const ledgerId = database.prepare('SELECT ledger_id FROM series').pluck().get() as string
      const merged = new Map<string, UsageLine>()
      const add = (line: UsageLine): void => {
        const { count, lastAt, ...names } = line
        const name = JSON.stringify(Object.entries(names).sort(([one], [other]) => one < other ? -1 : 1))
        const before = merged.get(name)
        merged.set(name, before === undefined
          ? line
          : {
              ...before,
              count: before.count + count,
              lastAt: lastAt > before.lastAt ? lastAt : before.lastAt
            })
      }
      for (const table of ['totals', 'waiting']) {
        const rows = database.prepare(`SELECT ${selectedColumns} FROM ${table} WHERE hour >= ? AND hour < ?`)
        for (const row of rows.iterate(from, to)) add(toLine(row as LineRow))
      }
      for (const content of database.prepare('SELECT content FROM batches').pluck().iterate()) {
        for (const line of unpackLines<UsageLine>(content as Buffer)) if (line.hour >= from && line.hour < to) add(line)
      }
      return { ledgerId, lines: [...merged.values()].sort((one, other) => one.hour < other.hour ? -1 : 1) }
    }).deferred()
  } finally {
    database.close()
  }
}

function prepare (database: Database.Database) {
  return {
    written: database.prepare('SELECT written FROM series').pluck(),
    mark: database.prepare('UPDATE series SET written = ?'),
    await: database.prepare(buildUpsert('waiting')),
    total: database.prepare(buildUpsert('totals')),
    waiting: database.prepare(`SELECT ${selectedColumns} FROM waiting LIMIT ?`),
    leave: database.prepare(`
      DELETE FROM waiting WHERE key_id = :keyId AND hour = :hour AND resource = :resource AND interaction = :interaction
      AND outcome = :outcome AND is_counted = :isCounted AND is_overage = :isOverage`),
    forget: database.prepare('DELETE FROM totals WHERE hour < ?'),
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
