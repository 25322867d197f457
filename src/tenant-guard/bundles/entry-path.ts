import { toFailure } from '../../envelope/error-handlers.js'
import { Failure } from '../../envelope/failures.js'
import { toOperationOutcome } from '../../envelope/operation-outcome.js'

/**
 * The same failure with the entries of the Bundle that it is about, by their places; one of our own side stays
 * unchanged.
 */
export function withEntryPath (error: unknown, indexes: readonly number[]): unknown {
  const failure = toFailure(error)
  if (failure.status >= 500) return error
  const { message, headers, cause } = failure
  const issues = indexes.flatMap(at =>
    toOperationOutcome(failure).issue.map(({ code, diagnostics, expression = [] }) => {
      const inResource = expression.filter(path => /^[A-Z]\w*[.[]/.test(path)).map(path => toEntryPath(path, at))
      return {
        severity: 'error',
        code,
        diagnostics,
        expression: inResource.length > 0 ? inResource : [`Bundle.entry[${at}]`]
      } as const
    })
  )
  return new Failure(failure.code, { message, headers, cause, issues })
}

/** `Bundle.entry[2].resource.subject` for `Observation.subject`. */
export function toEntryPath (path: string, at: number): string {
  return `Bundle.entry[${at}].resource${path.replace(/^[^.[]*/, '')}`
}
