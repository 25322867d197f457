import type { ControlPlaneClient, LinkedStore } from './link.js'

/** The link from the gateway with this name to the control store in the same process. */
export function localLink (
  { feed, report, applyUsage, applyEvents, events, jobs, webhooks, subscriptions }: LinkedStore,
  name: string
): ControlPlaneClient {
  return {
    feed,
    report,
    sendUsage: batch => applyUsage(batch, name),
    sendEvents: batch => applyEvents(batch, name),
    events,
    jobs,
    webhooks,
    subscriptions,
    close: async () => {}
  }
}
