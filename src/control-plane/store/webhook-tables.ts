import type { Mode } from '../../config/mode.js'
import type { Delivery } from '../../events/webhooks/webhook.js'

/**
 * A receiver of events: a webhook or a subscription. `types` is separated by commas. `secret` and `previousSecret` are
 * sealed; that of a subscription has its headers.
 */
export interface WebhookRow {
  id: string
  kind: 'webhook' | 'subscription'
  tenantId: string
  mode: Mode
  url: string
  types: string
  description: string | null
  enabled: number
  disabledReason: string | null
  disabledAt: string | null
  secret: string
  previousSecret: string | null
  previousSecretUntil: string | null
  createdAt: string
  createdBy: string
  /** The sequence number of the last event that was sent, or waits in {@link WebhookRetryRow}. */
  position: number
  leaseNumber: number
  leasedUntil: string | null
  /** When a process last took it, for fairness. */
  claimedAt: string
  /** Nothing but tests is sent before then, since the receiver requested it. */
  restUntil: string | null
  /** Of a subscription: the rest of it, as JSON. */
  settings: string | null
  /** Whether a handshake is under way. Until it has succeeded, a subscription is not enabled. */
  awaitsHandshake: number
  /** When the next heartbeat is due. */
  heartbeatAt: string | null
  /** When the subscription ends. */
  endsAt: string | null
  /** The number of the event at `position`, which counts those of its topic. */
  eventNumber: number
}

/** An event that waits for its next attempt, or a test event, whose sequence number is 0. */
export interface WebhookRetryRow {
  webhookId: string
  eventId: string
  sequence: number
  eventCreatedAt: string
  /** How many attempts were made. */
  attempts: number
  nextAttemptAt: string
  /** Its number in a subscription. */
  eventNumber: number | null
}

/** One attempt to deliver an event. */
export interface WebhookDeliveryRow {
  id: string
  webhookId: string
  eventId: string
  eventType: string
  outcome: Delivery['outcome']
  attempt: number
  at: string
  durationMs: number
  responseStatus: number | null
  responseText: string | null
  error: string | null
  nextAttemptAt: string | null
}
