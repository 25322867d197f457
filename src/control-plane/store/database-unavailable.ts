import { Failure } from '../../envelope/failures.js'

const retryAfterSeconds = 5

/**
 * The control database is unavailable. The message asks clients to retry; `remedy` says what the operator can do, in
 * the log and the terminal. Neither contains any part of the database's URL.
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
