import type { MonthTotal, UsageLine } from '../../limits/usage.js'

/** The last batch that was applied from a file of a gateway: its usage ledger, or its event log. */
export interface BatchSourceRow {
  ledgerId: string
  /** The gateway that sent it. */
  gateway: string
  number: number
  batchId: string
  appliedAt: string
}

/** The number of requests of all gateways in an hour, for one combination of the other columns. */
export interface UsageHourRow extends Omit<UsageLine, 'isCounted' | 'isOverage' | 'lastAt' | 'count'> {
  isCounted: number
  isOverage: number
  count: number
}

/** How many requests of a pool counted in a month, and how many of them were above the quota. */
export interface UsageMonthRow extends MonthTotal {
  overage: number
}
