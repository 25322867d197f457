import { ControlError } from '../../store/control-error.js'
import { isDay } from '../../../time/iso-time.js'

/** The end of a day in UTC that was chosen in a form; undefined when none was. @throws {ControlError} */
export function endOfLastDay (text: string): Date | undefined {
  if (text === '') return undefined
  if (!isDay(text)) {
    throw new ControlError('invalid', 'Write the last day as year, month and day, such as 2030-01-31.', 'expiresAt')
  }
  return new Date(Date.parse(text) + 24 * 3_600_000)
}
