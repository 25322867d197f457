import type { Dispatcher } from 'undici'

/** The callback with the response before its body has arrived, or with the error. */
export type UpstreamResponse = (error: Error | null, response: Dispatcher.ResponseData) => void

/**
 * A datastore as a proxy reaches it: its address, and connections that have limits and add the gateway's credential.
 */
export interface Upstream {
  /** The same object for every view of this datastore, such as those of different organizations. */
  readonly identity: object
  /** Scheme, host and port. */
  readonly origin: string
  /** The path of the base URL without a trailing slash; empty for the root. */
  readonly basePath: string
  /**
   * Sends a request with the gateway's own credential, within the total timeout of this datastore. Repeats it once if
   * the credential was refused. If no credential is available, the error may be a Failure.
   */
  request (options: Dispatcher.RequestOptions, upstreamResponse: UpstreamResponse): void
}
