import type { GatewayReport } from '../store/gateway-store.js'
import type { Jobs } from '../../jobs/model/jobs.js'
import type { Subscriptions } from '../../events/subscriptions/subscription.js'
import type { Webhooks } from '../../events/webhooks/webhook.js'
import type { ChangeFeed } from '../../keys/change-feed.js'
import type { EventBatch, EventFeed, SendEvents } from '../../events/event.js'
import type { BatchAck } from '../outbox/batch.js'
import type { SendUsage, UsageBatch, UsageAck } from '../../limits/usage.js'

/**
 * All communication between a gateway and its control plane, in the same process or another. The gateway always
 * initiates it.
 */
export interface ControlPlaneClient {
  readonly feed: ChangeFeed
  /**
   * Reports the gateway's state. A later report replaces an earlier one. The signal aborts the request to a remote
   * control plane.
   */
  readonly report: (report: GatewayReport, stopping?: AbortSignal) => Promise<void>
  readonly sendUsage: SendUsage
  readonly sendEvents: SendEvents
  readonly events: EventFeed
  /** If the control plane can't be reached, calls throw a Failure that a client of the gateway may see. */
  readonly jobs: Jobs
  /** The same holds of webhooks and subscriptions; what the control plane refuses is a ControlError. */
  readonly webhooks: Webhooks
  readonly subscriptions: Subscriptions
  readonly close: () => Promise<void>
}

/** The part of a control store that gateways use. */
export interface LinkedStore {
  readonly feed: ChangeFeed
  readonly report: (report: GatewayReport) => Promise<void>
  /** Applies a batch from the gateway with this name. */
  readonly applyUsage: (batch: UsageBatch, gateway: string) => Promise<UsageAck>
  /** Applies a batch from the gateway with this name. */
  readonly applyEvents: (batch: EventBatch, gateway: string) => Promise<BatchAck>
  readonly events: EventFeed
  readonly jobs: Jobs
  readonly webhooks: Webhooks
  readonly subscriptions: Subscriptions
}

/** The link to the control plane failed. The message says what to do, and repeats nothing that was sent. */
export class ControlPlaneError extends Error {
  constructor (message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ControlPlaneError'
  }
}
