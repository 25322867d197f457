/** A calendar month in UTC: `2030-01`. */
export type Month = string

/** The month of a time, which is ISO 8601 in UTC. */
export const toMonth = (at: string): Month => at.slice(0, 7)

/** Whether a text is a month. */
export const isMonth = (text: string): text is Month => /^\d{4}-(0[1-9]|1[0-2])$/.test(text)

/** The start of a month, or of the month `later` months after it. Negative numbers go back. */
export function startOfMonth (month: Month, later = 0): Date {
  const begin = new Date(`${month}-01T00:00:00Z`)
  begin.setUTCMonth(begin.getUTCMonth() + later)
  return begin
}

/** The month `later` months after another. Negative numbers go back. */
export const addMonths = (month: Month, later: number): Month => toMonth(startOfMonth(month, later).toISOString())
