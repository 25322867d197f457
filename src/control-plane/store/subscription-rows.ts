import type { ExpressionBuilder, Selectable, Kysely, Transaction } from 'kysely'
import { changes } from '../../events/event.js'
import {
  hiddenValue, type Subscription, type SubscriptionDraft, type EventRange, type NumberedEvent
} from '../../events/subscriptions/subscription.js'
import { toEventType } from '../../events/to-events.js'
import { ControlError } from './control-error.js'
import type { WebhookRow } from './webhook-tables.js'
import type { EventRow, Tables } from './tables.js'
import type { Attempt } from '../../events/webhooks/delivery-queue.js'

/** The content of the column `settings` of a subscription, as JSON. */
type Settings = Pick<
  Subscription,
  'type' | 'fhirBase' | 'content' | 'heartbeatSeconds' | 'timeoutSeconds' | 'maxCount' | 'reason' | 'contact' |
  'version' | 'lastUpdated'
>

/** The settings that a draft and the version make. */
export function formatSettings (
  draft: SubscriptionDraft, { version, lastUpdated }: Pick<Subscription, 'version' | 'lastUpdated'>
): string {
  const { type, fhirBase, content, heartbeatSeconds, timeoutSeconds, maxCount, reason, contact } = draft
  const settings: Settings = {
    type,
    fhirBase,
    content,
    ...heartbeatSeconds !== undefined && { heartbeatSeconds },
    ...timeoutSeconds !== undefined && { timeoutSeconds },
    ...maxCount !== undefined && { maxCount },
    reason,
    ...contact !== undefined && { contact },
    version,
    lastUpdated
  }
  return JSON.stringify(settings)
}

/** The settings of the row of a subscription. */
export function parseSettings ({ settings }: Pick<WebhookRow, 'settings'>): Settings {
  return JSON.parse(settings!) as Settings
}

/** The state of a subscription, in R4's terms. */
export function toStatus (
  { awaitsHandshake, enabled, disabledReason }: Pick<WebhookRow, 'awaitsHandshake' | 'enabled' | 'disabledReason'>
): Subscription['status'] {
  if (awaitsHandshake === 1) return 'requested'
  if (enabled === 1) return 'active'
  return disabledReason === null ? 'off' : 'error'
}

/**
 * A subscription as clients see it.
 * @param headers undefined if this process can't decrypt them
 */
export function toSubscription (
  row: Selectable<WebhookRow>,
  { headers = [], eventCount }: { readonly headers: readonly string[] | undefined, readonly eventCount: number }
): Subscription {
  const { id, mode, url: endpoint, endsAt, disabledReason } = row
  return {
    id,
    mode,
    endpoint,
    ...parseSettings(row),
    headers: headers.map(header => `${getHeaderName(header)}: ${hiddenValue}`),
    status: toStatus(row),
    ...endsAt !== null && { end: endsAt },
    ...disabledReason !== null && { error: disabledReason },
    eventCount
  }
}

/**
 * The headers of an update: a value that a read hid stays the stored one.
 * @throws {ControlError} invalid
 */
export function mergeHeaders (requested: readonly string[], stored: readonly string[] | undefined): readonly string[] {
  return requested.map((header, at) => {
    if (header.slice(getHeaderName(header).length + 1).trim() !== hiddenValue) return header
    const storedHeader = stored?.find(each => getHeaderName(each).toLowerCase() === getHeaderName(header).toLowerCase())
    if (storedHeader !== undefined) return storedHeader
    throw new ControlError('invalid', `expected the value of the header, since ${hiddenValue} hides one that is not stored for this server`,
      `channel.header[${at}]`)
  })
}

/** The headers by their names, as a request sends them. */
export function toHeaders (headers: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    headers.map(header => [getHeaderName(header), header.slice(getHeaderName(header).length + 1).trim()])
  )
}

const getHeaderName = (header: string): string => header.slice(0, header.indexOf(':'))

/** The types of the events of a topic. */
const listTopicTypes = (type: string): readonly string[] => changes.map(change => toEventType(type, change))

/** The same as a filter of a webhook. */
export const toTopicFilter = (type: string): string => toEventType(type, 'created').replace(/created$/, '*')

/*
 * The number of an event in a subscription is not stored with it: the row has the number at its position, and the
 * events before and after are counted from there. Events that are too old are deleted from the far end.
 */

type Subscribed = Pick<WebhookRow, 'tenantId' | 'mode' | 'settings' | 'position' | 'eventNumber'>

/** The events of the topic of a subscription. */
function selectTopicEvents (db: Kysely<Tables>, row: Subscribed) {
  return db.selectFrom('events').where('organizationId', '=', row.tenantId).where('mode', '=', row.mode)
    .where('type', 'in', listTopicTypes(parseSettings(row).type))
}

/** The events of the topic since the subscription was created: those that were sent, and those that are to be. */
export async function countEvents (db: Kysely<Tables>, row: Subscribed): Promise<number> {
  const { count } = await selectTopicEvents(db, row).where('sequence', '>', row.position)
    .select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow()
  return Number(row.eventNumber) + Number(count)
}

/** The retained events with numbers in a range, the oldest first. */
export async function listNumberedEvents (
  db: Kysely<Tables>, row: Subscribed, { since = 1, until = Infinity, limit }: EventRange & { readonly limit: number }
): Promise<NumberedEvent[]> {
  const sent = Number(row.eventNumber)
  const { count } = await selectTopicEvents(db, row).where('sequence', '<=', row.position)
    .select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow()
  const first = Math.max(1, since, sent - Number(count) + 1)
  const last = Math.min(until, first + limit - 1)
  const [before, after] = [Math.min(last, sent), Math.max(first, sent + 1)]
  const earlier = first > before
    ? []
    : await selectTopicEvents(db, row).selectAll().where('sequence', '<=', row.position).orderBy('sequence', 'desc')
      .offset(sent - before).limit(before - first + 1).execute()
  const later = after > last
    ? []
    : await selectTopicEvents(db, row).selectAll().where('sequence', '>', row.position).orderBy('sequence')
      .offset(after - sent - 1).limit(last - after + 1).execute()
  return [
    ...earlier.map((event, at) => toNumberedEvent(event, before - at)).reverse(),
    ...later.map((event, at) => toNumberedEvent(event, after + at))
  ]
}

const toNumberedEvent = (event: EventRow, number: number): NumberedEvent =>
  ({ number, event: { ...event, sequence: Number(event.sequence) } })

/**
 * Applies the result of a handshake to a subscription: events are sent from then on, or it ends with an error. @param
 * at now
 */
export async function settleHandshake (
  trx: Transaction<Tables>, id: string, { attempt, at }: { readonly attempt: Attempt, readonly at: string }
): Promise<void> {
  const { outcome, error, responseStatus } = attempt
  const isShaken = outcome === 'delivered'
  const reason = error ?? `the receiver responded with status ${responseStatus}`
  await trx.updateTable('webhooks').set({
    awaitsHandshake: 0,
    enabled: isShaken ? 1 : 0,
    disabledAt: isShaken ? null : at,
    disabledReason: isShaken ? null : `The handshake failed: ${reason}.`
  }).where('id', '=', id).execute()
}

/** Whether the time of a subscription is over, which is not off yet. */
export const hasEnded = (now: string) => (eb: ExpressionBuilder<Tables, 'webhooks'>) =>
  eb.and([eb('endsAt', '<=', now), eb.or([eb('enabled', '=', 1), eb('awaitsHandshake', '=', 1)])])

/** Switches off the subscriptions whose time is over. @param at now */
export async function endSubscriptions (db: Kysely<Tables>, at: string): Promise<void> {
  const ended = await db.selectFrom('webhooks').select('id').where(hasEnded(at)).execute()
  for (const { id } of ended) {
    await db.updateTable('webhooks').set(eb => ({
      enabled: 0, awaitsHandshake: 0, leaseNumber: eb('leaseNumber', '+', 1), leasedUntil: null
    })).where('id', '=', id).where('endsAt', '<=', at).execute()
  }
}
