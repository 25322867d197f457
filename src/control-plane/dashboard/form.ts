import { isDay } from '../../time/iso-time.js'
import { ControlError } from '../store/control-error.js'

/** The text that was typed into a field of a form; empty when the form has none or several of that name. */
export function readField (body: unknown, name: string): string {
  const value =
    typeof body === 'object' && body !== null && Object.hasOwn(body, name)
      ? (body as Record<string, unknown>)[name]
      : undefined
  return typeof value === 'string' ? value : ''
}

/** The values of a field that a form may have several times, such as checkboxes; none for a field that is absent. */
export function readFieldValues (body: unknown, name: string): readonly string[] {
  const value =
    typeof body === 'object' && body !== null && Object.hasOwn(body, name) ? (body as Record<string, unknown>)[name] : []
  return [value].flat().filter(each => typeof each === 'string')
}

/** The end of a day in UTC that was chosen in a form; undefined when none was. @throws {ControlError} */
export function endOfLastDay (text: string): Date | undefined {
  if (text === '') return undefined
  if (!isDay(text)) {
    throw new ControlError('invalid', 'Write the last day as year, month and day, such as 2030-01-31.', 'expiresAt')
  }
  return new Date(Date.parse(text) + 24 * 3_600_000)
}

/**
 * Performs a form's request; if the control plane rejects it as invalid or as a conflict, `redisplay` shows the form
 * with the reason. Missing and forbidden are left to the error page.
 */
export async function redisplayOnError<T> (
  work: () => Promise<T>,
  redisplay: (refusal: ControlError) => Promise<T>
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ControlError && (error.reason === 'invalid' || error.reason === 'conflict')) {
      return await redisplay(error)
    }
    throw error
  }
}

/** The error of a form that is shown again, and the name of the field that it is about, if there is one. */
export interface FormError { readonly message: string, readonly field?: string }

/** Fields whose name in the form differs from the control plane's, by the control plane's name. */
const requestedAs: Readonly<Record<string, string>> = { expiresAt: 'lastDay' }

/** The refusal of the control plane as an error of the form that caused it. */
export function toFormError ({ message, field }: ControlError): FormError {
  return { message, field: field && (requestedAs[field] ?? field) }
}

const statuses = { missing: 404, forbidden: 403, invalid: 422, conflict: 409 } as const

/** The HTTP status of a refusal. */
export function toHttpStatus ({ reason }: ControlError): number {
  return statuses[reason]
}
