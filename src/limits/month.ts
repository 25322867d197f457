/** A month of the calendar in UTC: `2030-01`. */
export type Month = string

/** The month of a moment that is ISO 8601 in UTC. */
export const monthOf = (at: string): Month => at.slice(0, 7)

/** Whether a text names a month. */
export const isMonth = (text: string): text is Month => /^\d{4}-(0[1-9]|1[0-2])$/.test(text)

/** The first moment of a month, or of the one so many months later; negative is earlier. */
export function beginOf (month: Month, later = 0): Date {
  const begin = new Date(`${month}-01T00:00:00Z`)
  begin.setUTCMonth(begin.getUTCMonth() + later)
  return begin
}

/** The month so many months later; negative is earlier. */
export const monthAfter = (month: Month, later: number): Month => monthOf(beginOf(month, later).toISOString())
