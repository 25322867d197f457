import { failureOf } from '../../envelope/error-handlers.js'
import { Failure } from '../../envelope/failures.js'
import { outcomeOf } from '../../envelope/operation-outcome.js'

/** The same failure with the entries of the Bundle that it is about, by their places; one of our own side stays as it is. */
export function inEntries (error: unknown, places: readonly number[]): unknown {
  const failure = failureOf(error)
  if (failure.status >= 500) return error
  const [{ code } = { code: 'invalid' }] = outcomeOf(failure).issue
  const { message, headers, cause } = failure
  const issues = places.map(at => ({ severity: 'error', code, diagnostics: message, expression: [`Bundle.entry[${at}]`] }) as const)
  return new Failure(failure.code, { message, headers, cause, issues })
}
