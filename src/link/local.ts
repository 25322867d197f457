import type { ControlLink, LinkedStore } from './link.js'

/** The link of the gateway of this name straight to the control store in the same process. */
export function localLink ({ feed, report, applyUsage, jobs }: LinkedStore, name: string): ControlLink {
  return { feed, report, sendUsage: batch => applyUsage(batch, name), jobs, close: async () => {} }
}
