import { InvalidArgumentError } from 'commander'
import { isDay, isDateTime } from '../../time/iso-time.js'
import { isMonth } from '../../limits/month.js'

/** A time in ISO 8601; a date without a time is its start in UTC. */
export function parseTime (text: string): Date {
  if (!isDay(text) && !isDateTime(text)) throw new InvalidArgumentError('Use the form 2030-01-31T00:00:00Z for a time.')
  return new Date(text)
}

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A month such as `2030-01`. */
export function parseMonth (text: string): string {
  if (!isMonth(text)) throw new InvalidArgumentError('Use the form 2030-01 for a month.')
  return text
}

/** A time such as `30m`, `1h` or `7d`, in milliseconds. */
export function parseDuration (text: string): number {
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (text === '0') return 0
  if (amount === undefined || unit === undefined) {
    throw new InvalidArgumentError('Use a duration such as 30m, 1h or 7d, or 0 for none.')
  }
  return Number(amount) * (unitMs[unit] ?? NaN)
}
