import { InvalidArgumentError } from 'commander'
import { isMonth } from '../limits/month.js'

const isoTime = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/

/** A moment in ISO 8601; a day alone begins in UTC. */
export function parseTime (text: string): Date {
  const day = new Date(isoTime.exec(text)?.[1] ?? NaN)
  const time = new Date(text)
  // The engine reads 30 February as 2 March.
  const isDay = !Number.isNaN(day.getTime()) && text.startsWith(day.toISOString().slice(0, 10))
  if (!isDay || Number.isNaN(time.getTime())) throw new InvalidArgumentError('Use the form 2030-01-31T00:00:00Z for a time.')
  return time
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
  if (amount === undefined || unit === undefined) throw new InvalidArgumentError('Use a duration such as 30m, 1h or 7d, or 0 for none.')
  return Number(amount) * (unitMs[unit] ?? NaN)
}
