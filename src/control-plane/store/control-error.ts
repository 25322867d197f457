import { Failure, fieldIssue, type FailureCode } from '../../envelope/failures.js'

/**
 * Why a request is refused: the entity that it names does not exist, it is invalid, it conflicts with the present
 * state, or the actor's role does not allow it.
 */
export const refusalReasons = ['missing', 'invalid', 'conflict', 'forbidden'] as const
export type RefusalReason = typeof refusalReasons[number]

/**
 * A request that the control plane refuses. The message says what to do; `field` names the member of the request that
 * is at fault.
 */
export class ControlError extends Error {
  constructor (readonly reason: RefusalReason, message: string, readonly field?: string) {
    super(message)
    this.name = 'ControlError'
  }
}

/** The code of the failure that clients get for a refusal. */
export const failureCodes: Readonly<Record<RefusalReason, FailureCode>> = {
  missing: 'NOT_FOUND',
  invalid: 'VALIDATION_ERROR',
  conflict: 'CONFLICT',
  forbidden: 'INSUFFICIENT_SCOPE'
}

/**
 * The result of a call, for a client of the gateway.
 * @param type the resource type with which paths begin in raw FHIR
 * @throws {Failure} for a refusal of the control plane
 */
export async function rethrowAsFailure<T> (call: Promise<T>, type?: string): Promise<T> {
  try {
    return await call
  } catch (error) {
    if (!(error instanceof ControlError)) throw error
    const { reason, message, field } = error
    // A missing object and another organization's have the same text.
    if (reason === 'missing') throw new Failure('NOT_FOUND')
    if (field === undefined) throw new Failure(failureCodes[reason], { message })
    const text = message.replace(`${field}: `, '')
    const issues = [fieldIssue(type === undefined ? field : `${type}.${field}`, text)]
    throw new Failure(failureCodes[reason], type === undefined ? { message, issues } : { issues })
  }
}

const retryAfterSeconds = 5

/**
 * The control database is unavailable. The message suggests a retry to clients; `remedy` says what the operator can do,
 * in the log and the terminal. Neither contains any part of the database's URL.
 */
export class DatabaseUnavailable extends Failure {
  constructor (readonly remedy: string) {
    super('BACKEND_UNAVAILABLE', {
      message: 'The control plane cannot reach its database.',
      retryAfterSeconds,
      cause: new Error(remedy)
    })
    this.name = 'DatabaseUnavailable'
  }
}
