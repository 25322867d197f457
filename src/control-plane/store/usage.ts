import { sql, type Transaction } from 'kysely'
import { toMonth } from '../../limits/month.js'
import type { MonthTotal, UsageBatch, UsageLine, UsageAck } from '../../limits/usage.js'
import { splitIntoChunks } from '../../json/chunks.js'
import { applyOnce, rowsAtOnce } from './batches.js'
import { buildBill, type Bill } from './bill.js'
import type { ControlContext } from './context.js'
import type { Tables, UsageHourRow, UsageMonthRow } from './tables.js'
import { sumUsage, type UsageReport, type UsageQuery } from './usage-totals.js'

/** The usage that gateways report. Each batch is applied exactly once. */
export class UsageStore {
  readonly #context: ControlContext

  constructor (context: ControlContext) {
    this.#context = context
  }

  /**
   * Applies a batch of a gateway's ledger if it is the next one: adds its counts and stores its number in one
   * transaction.
   * @param gateway the name of the sender, for people to read
   * @returns the position in the series. A batch that was already applied, or that is not the next one, changes
   * nothing.
   */
  apply (batch: UsageBatch, gateway: string): Promise<UsageAck> {
    return applyOnce(this.#context, { table: 'usageSources', batch, gateway }, async (trx, lines) => {
      await add(trx, lines)
      const months = await addMonths(trx, lines)
      await touchKeys(trx, lines)
      return { months }
    })
  }

  /** The bill of an organization for a month such as `2030-01`. @throws {ControlError} */
  getBill (tenantId: string, month: string): Promise<Bill> {
    return buildBill(this.#context.db, tenantId, month)
  }

  /** An organization's usage, in a limited number of totals. @throws {ControlError} */
  sumUsage (query: UsageQuery): Promise<UsageReport> {
    return sumUsage(this.#context.db, query)
  }
}

async function add (trx: Transaction<Tables>, lines: readonly UsageLine[]): Promise<void> {
  for (const rows of splitIntoChunks(toHourRows(lines), rowsAtOnce)) {
    await trx
      .insertInto('usageHours')
      .values(rows)
      .onConflict(conflict =>
        conflict
          .columns([
            'tenantId',
            'hour',
            'mode',
            'keyId',
            'resource',
            'interaction',
            'outcome',
            'isCounted',
            'isOverage'
          ])
          .doUpdateSet(eb => ({ count: eb('usageHours.count', '+', eb.ref('excluded.count')) }))
      )
      .execute()
  }
}

/** @returns the new totals */
async function addMonths (trx: Transaction<Tables>, lines: readonly UsageLine[]): Promise<MonthTotal[]> {
  const totals: MonthTotal[] = []
  for (const rows of splitIntoChunks(toMonthRows(lines), rowsAtOnce)) {
    const added = await trx.insertInto('usageMonths').values(rows)
      .onConflict(conflict => conflict.columns(['tenantId', 'mode', 'month']).doUpdateSet(eb => ({
        counted: eb('usageMonths.counted', '+', eb.ref('excluded.counted')),
        overage: eb('usageMonths.overage', '+', eb.ref('excluded.overage'))
      })))
      .returning(['tenantId', 'mode', 'month', 'counted']).execute()
    totals.push(...added.map(total => ({ ...total, counted: Number(total.counted) })))
  }
  return totals
}

/** One row for each pool and month, in an order that is the same for all senders. */
function toMonthRows (lines: readonly UsageLine[]): UsageMonthRow[] {
  const rows = new Map<string, { -readonly [K in keyof UsageMonthRow]: UsageMonthRow[K] }>()
  for (const { tenantId, mode, hour, count, isOverage } of lines.filter(line => line.isCounted)) {
    const month = toMonth(hour)
    const path = `${tenantId} ${mode} ${month}`
    const row = rows.get(path) ?? { tenantId, mode, month, counted: 0, overage: 0 }
    row.counted += count
    row.overage += isOverage ? count : 0
    rows.set(path, row)
  }
  return [...rows].sort(([one], [other]) => one < other ? -1 : 1).map(([, row]) => row)
}

/**
 * One row for each row of the table, in an order that is the same for all senders, since two of them could deadlock
 * otherwise.
 */
function toHourRows (lines: readonly UsageLine[]): UsageHourRow[] {
  const rows = new Map<string, UsageHourRow>()
  for (const { lastAt: _, count, ...line } of lines) {
    const row = { ...line, isCounted: Number(line.isCounted), isOverage: Number(line.isOverage), count: 0 }
    const path = [
      row.tenantId,
      row.hour,
      row.mode,
      row.keyId,
      row.resource,
      row.interaction,
      row.outcome,
      row.isCounted,
      row.isOverage
    ].join(' ')
    const known = rows.get(path) ?? row
    known.count += count
    rows.set(path, known)
  }
  return [...rows].sort(([one], [other]) => one < other ? -1 : 1).map(([, row]) => row)
}

/**
 * Runs last, since it locks keys that another transaction may revoke. It is recorded neither for gateways nor in the
 * audit trail.
 */
async function touchKeys (trx: Transaction<Tables>, lines: readonly UsageLine[]): Promise<void> {
  const lastUses = new Map<string, string>()
  for (const { keyId, lastAt } of lines) if (lastAt > (lastUses.get(keyId) ?? '')) lastUses.set(keyId, lastAt)
  for (const uses of splitIntoChunks([...lastUses].sort(), rowsAtOnce)) {
    const values = sql.join(uses.map(([keyId, lastAt]) => sql`(${keyId}, ${lastAt})`))
    await sql`
      UPDATE keys SET last_used_at = used.column2 FROM (VALUES ${values}) AS used
      WHERE keys.key_id = used.column1 AND (keys.last_used_at IS NULL OR keys.last_used_at < used.column2)`.execute(trx)
  }
}
