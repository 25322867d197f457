import { ControlError } from '../store/control-error.js'

/** The text that was typed into a field of a form; empty when the form has none or several of that name. */
export function field (body: unknown, name: string): string {
  const value =
    typeof body === 'object' && body !== null && Object.hasOwn(body, name)
      ? (body as Record<string, unknown>)[name]
      : undefined
  return typeof value === 'string' ? value : ''
}

/**
 * Does what a form requests; where the control plane finds it invalid or too late, `again` shows the form with the
 * reason. What is missing or forbidden is left to the error page.
 */
export async function redisplayOnError<T> (
  work: () => Promise<T>,
  again: (refusal: ControlError) => Promise<T>
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ControlError && (error.reason === 'invalid' || error.reason === 'conflict')) {
      return await again(error)
    }
    throw error
  }
}

/** What is wrong with a form that is shown again, and the name of the field that it is about, where it is about one. */
export interface FormError { readonly message: string, readonly field?: string }

/** Where a form requests something in another way than the control plane, by the control plane's name of it. */
const requestedAs: Readonly<Record<string, string>> = { expiresAt: 'lastDay' }

/** What a refusal says to the form that led to it. */
export function toFormError ({ message, field }: ControlError): FormError {
  return { message, field: field && (requestedAs[field] ?? field) }
}

const statuses = { missing: 404, forbidden: 403, invalid: 422, conflict: 409 } as const

/** The HTTP status of a refusal. */
export function statusOf ({ reason }: ControlError): number {
  return statuses[reason]
}
