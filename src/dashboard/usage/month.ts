/** A month of the calendar in UTC: `2026-11`. */
export type Month = string

/** The month of a moment. */
export function monthOf (moment: Date): Month {
  return moment.toISOString().slice(0, 7)
}

/** Whether a text from a query names a month that usage can be of. */
export function isMonth (text: string | undefined): text is Month {
  return text !== undefined && /^20\d\d-(0[1-9]|1[0-2])$/.test(text)
}

/** The month so many months later; negative is earlier. */
export function monthAfter (month: Month, months: number): Month {
  const begin = beginOf(month)
  return monthOf(new Date(Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth() + months, 1)))
}

/** The first moment of a month. */
export function beginOf (month: Month): Date {
  return new Date(`${month}-01T00:00:00Z`)
}

const monthNames = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const dayNames = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** As people write it: `November 2026`. */
export function monthText (month: Month): string {
  return monthNames.format(beginOf(month))
}

/** The day of a moment as people write it: `3 Nov`. */
export function dayText (at: string): string {
  return dayNames.format(new Date(at))
}
