import { presentEvent } from '../../events/event.js'
import { buildNotification, type Notice, type NotifiedSubscription } from '../../events/subscriptions/notification.js'
import type { DueEvent, SubscriptionChannel } from '../../events/webhooks/delivery-queue.js'
import { base32, randomString } from '../../keys/random-text.js'
import type { EventRow } from './tables.js'
import { parseSettings, toStatus, toHeaders } from './subscription-rows.js'
import type { WebhookRow } from './webhook-tables.js'

/** The type of the event that a test sends. */
const testType = 'webhook.test'

/** The types of what a subscription receives besides events. */
export const handshakeType = 'subscription.handshake'
const heartbeatType = 'subscription.heartbeat'

/** A change as its receiver gets it. @param number its number in a subscription; null for a webhook */
export function toDueEvent (
  row: WebhookRow, event: EventRow, { attempt, number }: { readonly attempt: number, readonly number: number | null }
): DueEvent {
  const { id, type, createdAt, sequence } = event
  const due = { id, type, createdAt, sequence, attempt }
  if (number === null) return { ...due, body: JSON.stringify(presentEvent(event)) }
  const notice: Notice = { type: 'event-notification', eventCount: number, events: [{ number, event }] }
  return { ...due, number, body: formatNotification(row, notice, createdAt) }
}

/** A test of a webhook, or the handshake of a subscription. */
export function toTestEvent (
  row: WebhookRow, { id, createdAt, eventCount }: Pick<DueEvent, 'id' | 'createdAt'> & Pick<Notice, 'eventCount'>
): DueEvent {
  const due = { id, createdAt, sequence: 0, attempt: 1 }
  return row.kind === 'webhook'
    ? { ...due, type: testType, body: JSON.stringify({ id, type: testType, createdAt, data: {} }) }
    : { ...due, type: handshakeType, body: formatNotification(row, { type: 'handshake', eventCount }, createdAt) }
}

/** The event by which a subscription's receiver learns that the subscription is still active. */
export function buildHeartbeat (
  row: WebhookRow, { at, eventCount }: { readonly at: string } & Pick<Notice, 'eventCount'>
): DueEvent {
  return {
    id: `hbt_${randomString(base32, 26)}`,
    type: heartbeatType,
    createdAt: at,
    sequence: 0,
    attempt: 1,
    body: formatNotification(row, { type: 'heartbeat', eventCount }, at)
  }
}

/** How a subscription is sent to. */
export function toChannel (row: WebhookRow, headers: readonly string[]): SubscriptionChannel {
  const { heartbeatSeconds, timeoutSeconds } = parseSettings(row)
  return {
    headers: toHeaders(headers),
    ...heartbeatSeconds !== undefined && { heartbeatSeconds },
    ...timeoutSeconds !== undefined && { timeoutMs: timeoutSeconds * 1_000 }
  }
}

function formatNotification (row: WebhookRow, notice: Notice, at: string): string {
  const { type, fhirBase, content } = parseSettings(row)
  const subscription: NotifiedSubscription = { id: row.id, type, fhirBase, content, status: toStatus(row) }
  return JSON.stringify(buildNotification(subscription, notice, at))
}
