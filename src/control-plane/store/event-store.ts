import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import { changes, type EventBatch, type EventFeed, type EventQuery, type StoredEvent } from '../../events/event.js'
import type { BatchAck } from '../outbox/batch.js'
import { splitIntoChunks } from '../../json/chunks.js'
import { applyOnce, rowsAtOnce } from './batches.js'
import type { ControlContext } from './context.js'
import type { EventRow, Tables } from './tables.js'

/** How many events are deleted in one statement, so that appends do not wait for long. */
const deletedAtOnce = 5_000

/**
 * The changes of records that gateways report, for `GET /v1/events` and webhooks. A reader that continues after the
 * highest sequence number that it has seen misses no event.
 */
export class EventStore implements EventFeed {
  readonly #context: ControlContext

  constructor (context: ControlContext) {
    this.#context = context
  }

  /**
   * Applies a batch of a gateway's event log if it is the next one. Events that are stored already, by their ids, are
   * ignored.
   * @param gateway the name of the sender, for people to read
   * @returns the position in the series. A batch that was already applied, or that is not the next one, changes
   * nothing.
   */
  append (batch: EventBatch, gateway: string): Promise<BatchAck> {
    return applyOnce(this.#context, { table: 'eventSources', batch, gateway }, async (trx, lines) => {
      // A sequence of PostgreSQL's own would number concurrent transactions when they insert, not when they commit: a
      // reader could see 12, continue after it, and never see 11, which commits later. Taking the numbers from this row
      // keeps it locked until the transaction ends, so numbers become visible in their order.
      const { sequence: last } = await trx.updateTable('eventCounter')
        .set(eb => ({ sequence: eb('sequence', '+', lines.length) })).returning('sequence').executeTakeFirstOrThrow()
      const first = Number(last) - lines.length + 1
      const rows = lines.map(({ tenantId: organizationId, versionId = null, ...line }, at): EventRow =>
        ({ ...line, organizationId, versionId, sequence: first + at }))
      for (const part of splitIntoChunks(rows, rowsAtOnce)) {
        await trx.insertInto('events').values(part)
          .onConflict(conflict => conflict.column('id').doNothing()).execute()
      }
      return {}
    })
  }

  /** Events of an organization's mode, oldest first. */
  async list ({ organizationId, mode, after, types, since, limit }: EventQuery): Promise<StoredEvent[]> {
    let query = this.#context.db.selectFrom('events').selectAll()
      .where('organizationId', '=', organizationId).where('mode', '=', mode)
    if (after !== undefined) query = query.where('sequence', '>', after)
    if (since !== undefined) query = query.where('createdAt', '>=', since)
    if (types !== undefined && !types.includes('*')) query = query.where(eb => isOfTypes(eb, types))
    const rows = await query.orderBy('sequence').limit(limit).execute()
    return rows.map(row => ({ ...row, sequence: Number(row.sequence) }))
  }

  /** The sequence number of the latest event of all organizations; 0 if there never was one. */
  async getLatestSequence (): Promise<number> {
    const { sequence } = await this.#context.db.selectFrom('eventCounter').select('sequence').executeTakeFirstOrThrow()
    return Number(sequence)
  }

  /** Deletes events that are older. @returns how many */
  async deleteBefore (time: Date): Promise<number> {
    const { db } = this.#context
    for (let deleted = 0; ;) {
      const { numDeletedRows } = await db.deleteFrom('events').where('sequence', 'in',
        eb => eb.selectFrom('events').select('sequence')
          .where('createdAt', '<', time.toISOString()).limit(deletedAtOnce)
      ).executeTakeFirstOrThrow()
      deleted += Number(numDeletedRows)
      if (numDeletedRows < deletedAtOnce) return deleted
    }
  }
}

function isOfTypes (eb: ExpressionBuilder<Tables, 'events'>, types: readonly string[]): Expression<SqlBool> {
  const all = types.flatMap(type => type.endsWith('.*') ? changes.map(change => type.replace(/\*$/, change)) : [type])
  return all.length === 0 ? eb.lit(false) : eb('type', 'in', all)
}
