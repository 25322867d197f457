import type { Delivery, WebhookScope } from './webhook.js'

/** The most events of a webhook that wait for another attempt. While so many do, no further ones are sent. */
export const maxRetried = 8

/** An event that is to be sent now, with the number of this attempt. */
export interface DueEvent {
  readonly id: string
  readonly type: string
  /** The request's body, the same in each attempt. */
  readonly body: string
  readonly createdAt: string
  /** Its position in the event log; 0 for a test event, a handshake and a heartbeat. */
  readonly sequence: number
  /** Its number in a subscription. */
  readonly number?: number
  readonly attempt: number
}

/** The right to deliver to a webhook, until another process takes it over. */
interface DeliveryLease { readonly webhookId: string, readonly number: number }

/** How a topic-based subscription is sent to, which is not signed. */
export interface SubscriptionChannel {
  readonly headers: Readonly<Record<string, string>>
  /** How long its receiver may take for a response, if it is less than that of all. */
  readonly timeoutMs?: number
  /** How long after its last notification it gets a heartbeat; absent: it gets none. */
  readonly heartbeatSeconds?: number
}

/** A webhook or subscription whose events this process delivers. */
export interface ClaimedWebhook extends WebhookScope {
  readonly lease: DeliveryLease
  readonly url: string
  /** The secrets that sign, the present one first; undefined if this process can't decrypt them. */
  readonly secrets: readonly string[] | undefined
  /** Of a subscription alone. */
  readonly channel?: SubscriptionChannel
  /** Events that are due again, tests, handshakes and heartbeats. */
  readonly retries: readonly DueEvent[]
  /** New events in their order. */
  readonly fresh: readonly DueEvent[]
  /** Its position before this turn. */
  readonly position: number
  /** The position when all of `fresh` has been sent: events of other types count as sent. */
  readonly through: number
  /** How many further events may fail before no new ones are sent. */
  readonly maxFailures: number
}

/** An attempt that was made. */
export interface Attempt extends Pick<Delivery, 'outcome' | 'at' | 'durationMs' | 'responseStatus' | 'responseText' | 'error'> {
  readonly event: DueEvent
  /** The pause that the receiver requested by Retry-After. */
  readonly retryAfterMs?: number
}

/** The result of a turn. */
export interface TurnResult {
  readonly attempts: readonly Attempt[]
  /** The position of the webhook now: all events up to it were sent, or wait for another attempt. */
  readonly position: number
  /** Leaves the webhook alone for so long, but for tests. */
  readonly restMs?: number
  /** Keeps the webhook from all processes for so long, with its tests. */
  readonly heldMs?: number
}

/** The work of delivering, shared by all processes of the control plane: one process per webhook at a time. */
export interface DeliveryQueue {
  /** A webhook with something to send; undefined if there is none. */
  readonly claim: (leaseMs: number) => Promise<ClaimedWebhook | undefined>
  /** Whether the last claim found any webhook or subscription at all, with something to send or not. */
  readonly hasReceivers: boolean
  /** Sets the callback for the creation of a webhook or subscription by this process. */
  readonly onReceiverCreated: (callback: () => void) => void
  /** Stores what came of a turn, and gives the webhook back. */
  readonly record: (webhook: ClaimedWebhook, result: TurnResult) => Promise<void>
}
