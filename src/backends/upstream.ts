import type { Dispatcher } from 'undici'

/** What a proxy calls with the answer, the body still to come, or with what went wrong. */
export type Answered = (error: Error | null, answer: Dispatcher.ResponseData) => void

/** A datastore as a proxy reaches it: where it is, who the gateway is there, and its own connections with their bounds. */
export interface Upstream {
  /** Scheme, host and port. */
  readonly origin: string
  /** The path of the base URL, without a slash at its end; empty at the root. */
  readonly basePath: string
  /** The header `authorization` of the next request. */
  authorization (): string | undefined
  /** Sends it once, within the time that an exchange with this datastore may take in all. */
  request (options: Dispatcher.RequestOptions, answered: Answered): void
}
