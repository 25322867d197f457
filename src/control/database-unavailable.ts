import { Failure } from '../envelope/failures.js'

const retryAfterSeconds = 5

/**
 * The control database can't be asked now. To a client it says to try again; `remedy` tells the operator what to do, and goes
 * to the log and the terminal. Neither holds anything of the database's URL.
 */
export class DatabaseUnavailable extends Failure {
  constructor (readonly remedy: string) {
    super('BACKEND_UNAVAILABLE', {
      message: 'The control plane can\'t reach its database. Wait for the seconds in Retry-After and try again.',
      headers: { 'retry-after': String(retryAfterSeconds) },
      cause: new Error(remedy)
    })
    this.name = 'DatabaseUnavailable'
  }
}
