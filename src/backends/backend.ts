import type { Upstream } from './upstream.js'

/** A request of the tenant guard to a FHIR server. It is built by the guard, never forwarded from a client. */
export interface BackendRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Relative to the datastore's base URL, percent-encoded: `Patient/1?_elements=meta`. */
  readonly path: string
  /**
   * Such as if-match, if-none-exist, prefer, cache-control, x-request-id and traceparent. The HTTP client adds accept,
   * content-type, authorization and the operator's own headers.
   */
  readonly headers?: Readonly<Record<string, string>>
  /** FHIR JSON text. */
  readonly body?: string
  /** Instead of `body`: the parameters of a search by POST, as application/x-www-form-urlencoded. */
  readonly form?: string
  /** Marks a POST other than a search as one that changes nothing. */
  readonly isSafe?: true
}

/** A request that changes nothing. */
export type ReadRequest =
  BackendRequest & ({ readonly method: 'GET' } | { readonly form: string } | { readonly isSafe: true })

export interface BackendResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /**
   * The text as received, with references to records of this server relative, and with the ids in a stored Bundle that
   * the server dropped; empty if there was none.
   */
  readonly body: string
  /** The same in UTF-8, for what passes it on without making a text of it; absent where there is only the text. */
  readonly bytes?: Buffer
}

/** A response whose body is too large for memory. The caller starts to read it, and may stop at any time. */
export interface BackendStream extends Pick<BackendResponse, 'status' | 'headers'> {
  /** Empty unless the status is 200. Iteration throws the same failures as `send`. */
  readonly body: AsyncIterable<Buffer>
}

/** A request for a file, relative to the datastore's base URL. */
export interface StreamRequest {
  readonly path: string
  /** The media types that are accepted for a 200. */
  readonly accept: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  /** Aborts when the response is no longer needed. */
  readonly signal: AbortSignal
}

/**
 * One datastore. `send` resolves with 501 and any status below 500, except redirects, 401, 403, 407 and 429, which are
 * problems of the gateway with its datastore. Those and all others are thrown as a Failure BACKEND_ERROR (502),
 * BACKEND_UNAVAILABLE (503, with Retry-After) or BACKEND_TIMEOUT (504). A GET is retried once, anything else never.
 */
export interface Backend {
  readonly name: string
  /** The base URL without a trailing slash. The server's page links start with it. */
  readonly baseUrl: string
  /** The same server for a proxy. Only the guard opens a route to it. */
  readonly upstream: Upstream
  send (request: BackendRequest): Promise<BackendResponse>
  /**
   * Sends a GET once, and resolves before the body has arrived. A 200 has one of the accepted media types. Otherwise
   * like `send`.
   */
  stream (request: StreamRequest): Promise<BackendStream>
  /** A line of a stream in the form in which `send` returns a body. */
  normalize (line: string): string
  /** Whether the server responds at all, for /health. Never throws. */
  probe (): Promise<boolean>
  close (): Promise<void>
}
