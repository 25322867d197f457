import type { components } from './openapi.js'

/** One thing to correct; `expression` names the fields. */
export type Issue = components['schemas']['Issue']

/**
 * The gateway's codes, and two for failures before it: no response at all, and a response that is not the gateway's.
 */
export type ErrorCode = components['schemas']['Failure']['code'] | 'NETWORK_ERROR' | 'UNEXPECTED_RESPONSE'

/** The records that refer to one that cannot be deleted, in an order in which they can be. */
export type Referrers = components['schemas']['Referrers']

interface Details {
  readonly status?: number
  readonly requestId?: string | undefined
  readonly issues?: readonly Issue[]
  readonly details?: Referrers | undefined
  readonly retryAfter?: number | undefined
  readonly cause?: unknown
}

/** A request that did not succeed, in the words of the gateway. */
export class ClinigateError extends Error {
  /** The HTTP status; 0 when there was no response. */
  readonly status: number
  /** For the log, and for questions to the operator about this request. */
  readonly requestId: string | undefined
  /** The faults to correct in the request, field by field. */
  readonly issues: readonly Issue[]
  /** The records that prevent the deletion of a record; undefined for any other error. */
  readonly details: Referrers | undefined
  /** Seconds after which the same request may succeed, where the gateway knows. */
  readonly retryAfter: number | undefined

  constructor (
    readonly code: ErrorCode,
    message: string,
    { status = 0, requestId, issues = [], details, retryAfter, cause }: Details = {}
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'ClinigateError'
    this.status = status
    this.requestId = requestId
    this.issues = issues
    this.details = details
    this.retryAfter = retryAfter
  }
}

/** The error that a response reports. A proxy in between may have responded in place of the gateway. */
export function toClinigateError (response: Response, body: unknown): ClinigateError {
  const facts = {
    status: response.status,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfter: parseRetryAfter(response)
  }
  if (!isFailure(body)) {
    return new ClinigateError('UNEXPECTED_RESPONSE', `The response ${response.status} is not one of the gateway.`, facts)
  }
  const { code, message, issues, details, meta: { requestId } } = body
  return new ClinigateError(code, message, { ...facts, requestId, issues, details })
}

/** The seconds in Retry-After. */
export function parseRetryAfter ({ headers }: Response): number | undefined {
  const header = headers.get('retry-after')
  return header !== null && /^\d{1,9}$/.test(header) ? Number(header) : undefined
}

function isFailure (body: unknown): body is components['schemas']['Failure'] {
  return (
    typeof body === 'object' &&
    body !== null &&
    'code' in body &&
    'message' in body &&
    'issues' in body &&
    'meta' in body
  )
}
