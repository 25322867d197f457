import type { Kysely } from 'kysely'
import type { EventRange, NumberedEvent } from '../../events/subscriptions/subscription.js'
import type { EventRow } from './event-tables.js'
import { settingsOf, typesOfTopic } from './subscription-rows.js'
import type { Tables } from './tables.js'
import type { WebhookRow } from './webhook-tables.js'

/*
 * The number of an event in a subscription is not stored with it: the row has the number at its position, and the
 * events before and after are counted from there. Events that are too old are deleted from the far end.
 */

type Subscribed = Pick<WebhookRow, 'tenantId' | 'mode' | 'settings' | 'position' | 'eventNumber'>

/** The events of the topic of a subscription. */
function eventsOf (db: Kysely<Tables>, row: Subscribed) {
  return db.selectFrom('events').where('organizationId', '=', row.tenantId).where('mode', '=', row.mode)
    .where('type', 'in', typesOfTopic(settingsOf(row).type))
}

/** The events of the topic since the subscription was created: those that were sent, and those that are to be. */
export async function countEvents (db: Kysely<Tables>, row: Subscribed): Promise<number> {
  const { count } = await eventsOf(db, row).where('sequence', '>', row.position)
    .select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow()
  return Number(row.eventNumber) + Number(count)
}

/** The retained events with numbers in a range, the oldest first. */
export async function listNumberedEvents (
  db: Kysely<Tables>, row: Subscribed, { since = 1, until = Infinity, limit }: EventRange & { readonly limit: number }
): Promise<NumberedEvent[]> {
  const sent = Number(row.eventNumber)
  const { count } = await eventsOf(db, row).where('sequence', '<=', row.position)
    .select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow()
  const first = Math.max(1, since, sent - Number(count) + 1)
  const last = Math.min(until, first + limit - 1)
  const [before, after] = [Math.min(last, sent), Math.max(first, sent + 1)]
  const earlier = first > before
    ? []
    : await eventsOf(db, row).selectAll().where('sequence', '<=', row.position).orderBy('sequence', 'desc')
      .offset(sent - before).limit(before - first + 1).execute()
  const later = after > last
    ? []
    : await eventsOf(db, row).selectAll().where('sequence', '>', row.position).orderBy('sequence')
      .offset(after - sent - 1).limit(last - after + 1).execute()
  return [
    ...earlier.map((event, at) => numbered(event, before - at)).reverse(),
    ...later.map((event, at) => numbered(event, after + at))
  ]
}

const numbered = (event: EventRow, number: number): NumberedEvent =>
  ({ number, event: { ...event, sequence: Number(event.sequence) } })
