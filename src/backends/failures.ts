import { Failure, type FailureCode } from '../envelope/failures.js'
import type { BackendResponse, BackendRequest } from './backend.js'
import { TransportError } from './exchange.js'

/** The seconds in Retry-After if the datastore sent no reasonable value. */
export const defaultRetryAfterSeconds = 5
const maxRetryAfterSeconds = 3600

/** Whether a request changes nothing, so that it can be repeated. */
function isRead ({ method, form, isSafe }: BackendRequest): boolean {
  return method === 'GET' || form !== undefined || isSafe === true
}

/** The failure of a broken exchange. Other errors are bugs and are returned unchanged. */
export function toTransportFailure (request: BackendRequest, error: unknown): unknown {
  if (!(error instanceof TransportError)) return error
  if (!error.sent) return unavailable(defaultRetryAfterSeconds, error.cause)
  return uncertainOutcome(request, error.why === 'timeout' ? 'BACKEND_TIMEOUT' : 'BACKEND_ERROR', error.cause)
}

/**
 * The failure of a response that is a problem of the gateway with its datastore. Undefined for a response that the
 * guard can read.
 */
export function checkResponse (request: BackendRequest, response: BackendResponse): Failure | undefined {
  const failure = checkStatus(request, response)
  if (failure !== undefined || response.status === 501 || isReadable(response)) return failure
  return uncertainOutcome(request, 'BACKEND_ERROR', {
    status: response.status,
    reason: 'the response is not plain JSON'
  })
}

/** The same for a response whose body is not read. */
export function checkStatus (request: BackendRequest, response: Omit<BackendResponse, 'body'>): Failure | undefined {
  const { status } = response
  const cause = { status }
  if (status === 503 || status === 429) {
    return unavailable(parseRetryAfter(response) ?? defaultRetryAfterSeconds, cause)
  }
  if (status === 401 || status === 403 || status === 407) {
    return new Failure('BACKEND_ERROR', { cause: { status, reason: "the gateway's credential was rejected" } })
  }
  // Not a problem of the gateway: the server does not support the request.
  if (status === 501) return undefined
  if (status >= 500) return uncertainOutcome(request, 'BACKEND_ERROR', cause)
  if (status >= 300 && status < 400) {
    return new Failure('BACKEND_ERROR', { cause: { status, reason: 'redirects are not followed' } })
  }
  return undefined
}

/** The seconds in Retry-After, if it is an integer from one second to an hour; undefined otherwise. */
export function parseRetryAfter (response: Pick<BackendResponse, 'headers'>): number | undefined {
  const header = response.headers['retry-after']
  if (typeof header !== 'string' || !/^\d{1,4}$/.test(header)) return undefined
  const seconds = Number(header)
  return seconds >= 1 && seconds <= maxRetryAfterSeconds ? seconds : undefined
}

// HAPI sends the status of native imports in the media type that FHIR had before STU3.
function isReadable (response: BackendResponse): boolean {
  const { headers } = response
  const encoding = headers['content-encoding'] ?? 'identity'
  return (
    (encoding === 'identity' &&
      /^application\/(?:[\w.-]+\+)?json(?:\+fhir)?\s*(?:;|$)/i.test(String(headers['content-type']))) ||
    response.body === ''
  )
}

function unavailable (retryAfterSeconds: number, cause: unknown): Failure {
  return new Failure('BACKEND_UNAVAILABLE', { retryAfterSeconds, cause })
}

function uncertainOutcome (request: BackendRequest, code: FailureCode, cause: unknown): Failure {
  const message = isRead(request)
    ? 'Try again. If the error persists, report the requestId.'
    : 'Before you repeat the change, check whether it was made.'
  return new Failure(code, { message, cause })
}
