import type { Dispatcher } from 'undici'

/** What a proxy calls with the answer, the body still to come, or with what went wrong. */
export type Answered = (error: Error | null, answer: Dispatcher.ResponseData) => void

/** A datastore as a proxy reaches it: where it is, and its own connections with their bounds, on which the gateway says who it is. */
export interface Upstream {
  /** Scheme, host and port. */
  readonly origin: string
  /** The path of the base URL, without a slash at its end; empty at the root. */
  readonly basePath: string
  /**
   * Sends it with the gateway's own credential, within the time that an exchange with this datastore may take in all; once more
   * where that credential was refused. The error may be a Failure, when there is none.
   */
  request (options: Dispatcher.RequestOptions, answered: Answered): void
}
