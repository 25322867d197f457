import type { Transaction } from 'kysely'
import type { BatchAck, NumberedBatch } from '../outbox/batch.js'
import type { ControlContext } from './context.js'
import type { Tables } from './tables.js'

/** A batch of the gateway with this name, and the table with the positions of its series. */
interface ReceivedBatch<Line> {
  readonly table: 'usageSources' | 'eventSources'
  readonly batch: NumberedBatch<Line>
  readonly gateway: string
}

/**
 * Applies a gateway's batch if it is the next of its series: `apply` adds the lines in the transaction that stores the
 * number.
 * @returns the position in the series, with what `apply` returned. A batch that was already applied, or that is not
 * the next one, changes nothing.
 */
export function applyOnce<Line, Result extends object> (
  { db, now }: ControlContext,
  { table, batch: { ledgerId, number, batchId, lines }, gateway }: ReceivedBatch<Line>,
  apply: (trx: Transaction<Tables>, lines: readonly Line[]) => Promise<Result>
): Promise<BatchAck & Partial<Result>> {
  const appliedAt = now().toISOString()
  return db.transaction().execute(async (trx): Promise<BatchAck & Partial<Result>> => {
    // It starts with a write, so that SQLite acquires the write lock immediately. The row serializes senders of the
    // same series.
    await trx
      .insertInto(table)
      .values({ ledgerId, gateway, number: 0, batchId: '', appliedAt })
      .onConflict(conflict => conflict.doNothing())
      .execute()
    const moved = await trx.updateTable(table).set({ number, batchId, gateway, appliedAt })
      .where('ledgerId', '=', ledgerId).where('number', '=', number - 1).executeTakeFirstOrThrow()
    if (moved.numUpdatedRows > 0n) return { number, batchId, ...await apply(trx, lines) }
    const standing = await trx.selectFrom(table).select(['number', 'batchId'])
      .where('ledgerId', '=', ledgerId).executeTakeFirstOrThrow()
    return standing as BatchAck & Partial<Result>
  })
}

/** The most rows in one statement, since databases limit its parameters. */
export const rowsAtOnce = 200
