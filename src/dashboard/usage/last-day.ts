import { ControlRefused } from '../../control/refused.js'

/** The end of a day in UTC that was chosen in a form; undefined when none was. @throws {ControlRefused} */
export function endOfLastDay (text: string): Date | undefined {
  if (text === '') return undefined
  const end = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(Date.parse(`${text}T00:00:00Z`) + 24 * 3_600_000) : new Date(NaN)
  if (Number.isNaN(end.getTime())) throw new ControlRefused('invalid', 'Write the last day as year, month and day, such as 2030-01-31.')
  return end
}
