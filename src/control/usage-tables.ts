import type { MonthTotal, UsageLine } from '../limits/usage.js'

/** How far the ledger of a gateway was taken: its last batch. */
export interface UsageSourceRow {
  ledgerId: string
  /** Who sent the last batch. */
  gateway: string
  number: number
  batchId: string
  appliedAt: string
}

/** How many requests all gateways had in an hour that have all else in common. */
export interface UsageHourRow extends Omit<UsageLine, 'isCounted' | 'isOverage' | 'lastAt' | 'count'> {
  isCounted: number
  isOverage: number
  count: number
}

/** How many requests of a pool counted in a month, and how many of them came past the allowance. */
export interface UsageMonthRow extends MonthTotal {
  overage: number
}
