import { startOfMonth, isMonth, monthOf, type Month } from '../../../limits/month.js'

/** The month that a query names, if usage can be of it; else the one of the moment. */
export function monthIn (requested: string | undefined, now: Date): Month {
  return requested !== undefined && isMonth(requested) && requested.startsWith('20')
    ? requested
    : monthOf(now.toISOString())
}

const monthNames = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const dayNames = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** As people write it: `November 2026`. */
export function monthText (month: Month): string {
  return monthNames.format(startOfMonth(month))
}

/** The day of a time as people write it: `3 Nov`. */
export function dayText (at: string): string {
  return dayNames.format(new Date(at))
}
