import type { Upstream } from './upstream.js'

/** How the guard speaks to a FHIR server: a request that is built, never forwarded, and an answer that is checked, never trusted. */
export interface BackendRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Relative to the datastore's base URL, already encoded: `Patient/1?_elements=meta`. */
  readonly path: string
  /** Beyond accept, content-type, authorization and the operator's, which the client sets: if-match, if-none-exist, prefer, cache-control, x-request-id, traceparent. */
  readonly headers?: Readonly<Record<string, string>>
  /** FHIR JSON text. */
  readonly body?: string
  /** In place of `body`: the parameters of a search by POST, as application/x-www-form-urlencoded. */
  readonly form?: string
  /** Says of a POST that is no search that it changes nothing. */
  readonly isSafe?: true
}

export interface BackendAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The text as it came; empty where there was none. */
  readonly body: string
}

/** An answer whose body is too large to be held. Who asks for it begins to read it, and may leave off at any time. */
export interface BackendStream extends Pick<BackendAnswer, 'status' | 'headers'> {
  /** Empty unless the status is 200. It breaks with the same failures as `send`. */
  readonly body: AsyncIterable<Buffer>
}

/** A read of a file, relative to the datastore's base URL. */
export interface StreamRequest {
  readonly path: string
  /** The media types that a success may come in. */
  readonly accept: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  /** Nobody waits for the answer any more. */
  readonly signal: AbortSignal
}

/**
 * One datastore. `send` answers with 501 and any status below 500 but redirects, 401, 403, 407 and 429, which are the gateway's own trouble there;
 * everything else is thrown as a Failure BACKEND_ERROR (502), BACKEND_UNAVAILABLE (503, with Retry-After) or BACKEND_TIMEOUT (504).
 * A GET is tried again once; anything else never is.
 */
export interface Backend {
  readonly name: string
  /** The base URL, without a slash at its end; page links that the server gives begin with it. */
  readonly baseUrl: string
  /** The same server for a proxy; nobody but the guard opens a way to it. */
  readonly upstream: Upstream
  send (request: BackendRequest): Promise<BackendAnswer>
  /** Sends a GET once, and answers before the body is there. A 200 comes in a media type that was asked for; everything else is as with `send`. */
  stream (request: StreamRequest): Promise<BackendStream>
  /** Whether the server answers at all, for /health; never throws. */
  probe (): Promise<boolean>
  close (): Promise<void>
}
