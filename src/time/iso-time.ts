const form = /^(?<day>\d{4}-\d\d-\d\d)(?<time>T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/

/** Whether a text is a day of the calendar in ISO 8601, such as `2030-01-31`. */
export function isDay (text: string): boolean {
  const { day, time } = form.exec(text)?.groups ?? {}
  return day !== undefined && time === undefined && isCalendarDay(day)
}

/** Whether a text is a time in ISO 8601 with a time zone, such as `2030-01-31T00:00:00Z`, on a day of the calendar. */
export function isDateTime (text: string): boolean {
  const { day, time } = form.exec(text)?.groups ?? {}
  return day !== undefined && time !== undefined && isCalendarDay(day) && !Number.isNaN(Date.parse(text))
}

/** The engine reads 30 February as 2 March. */
function isCalendarDay (day: string): boolean {
  const date = new Date(day)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
}
