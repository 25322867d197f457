import { startOfMonth, isMonth, toMonth, type Month } from '../../limits/month.js'

const counts = new Intl.NumberFormat('en-US')

/** A number of things as people read it: `12,345`. */
export function formatCount (count: number): string {
  return counts.format(count)
}

/** How long something took: `123 ms`, and in larger words when it took long. */
export function formatDuration (ms: number): string {
  if (ms < 10_000) return `${formatCount(ms)} ms`
  if (ms < 600_000) return formatQuantity(Math.round(ms / 1_000), 'second')
  return ms < 36_000_000
    ? formatQuantity(Math.round(ms / 60_000), 'minute')
    : formatQuantity(Math.round(ms / 3_600_000), 'hour')
}

/** A number with its thing: `1 request`, `2 requests`. */
export function formatQuantity (count: number, thing: string): string {
  return `${formatCount(count)} ${thing}${count === 1 ? '' : 's'}`
}

/** The month that a query names, if usage can be of it; else the one of the moment. */
export function parseQueryMonth (requested: string | undefined, now: Date): Month {
  return requested !== undefined && isMonth(requested) && requested.startsWith('20')
    ? requested
    : toMonth(now.toISOString())
}

const monthNames = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const dayNames = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** As people write it: `November 2026`. */
export function formatMonth (month: Month): string {
  return monthNames.format(startOfMonth(month))
}

/** The day of a time as people write it: `3 Nov`. */
export function formatDay (at: string): string {
  return dayNames.format(new Date(at))
}
