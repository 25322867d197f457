import type { GatewayReport } from '../control/gateway-store.js'
import type { Jobs } from '../jobs/job.js'
import type { ChangeFeed } from '../keys/change-feed.js'
import type { SendUsage, UsageBatch, UsageReceipt } from '../limits/usage.js'

/** Everything that goes between a gateway and its control plane, be it in the same process or far away. The gateway always asks; nothing reaches it unasked. */
export interface ControlLink {
  readonly feed: ChangeFeed
  /** Tells the control plane how the gateway is; a later report takes the place of an earlier one. The signal breaks off the waiting for one far away. */
  readonly report: (report: GatewayReport, stopping?: AbortSignal) => Promise<void>
  readonly sendUsage: SendUsage
  /** Fails with what a client of the gateway may read when the control plane can't be reached. */
  readonly jobs: Jobs
  readonly close: () => Promise<void>
}

/** What gateways reach of a control store that this process has open. */
export interface LinkedStore {
  readonly feed: ChangeFeed
  readonly report: (report: GatewayReport) => Promise<void>
  /** Takes a batch from the gateway of this name. */
  readonly applyUsage: (batch: UsageBatch, gateway: string) => Promise<UsageReceipt>
  readonly jobs: Jobs
}
