import { setTimeout as pauseFor } from 'node:timers/promises'
import type { Backend, BackendRequest, BackendResponse, ReadRequest } from '../backends/backend.js'
import { Failure } from '../envelope/failures.js'

/** How long-running work reads from a datastore. */
export type Send = (request: ReadRequest) => Promise<BackendResponse>

/** The same for work of the operator's that also writes. */
export type SendAny = (request: BackendRequest) => Promise<BackendResponse>

/** The options of a sender with retries. */
export interface RetryOptions {
  readonly pause?: (ms: number) => Promise<unknown>
  /** Called when the datastore is overloaded. */
  readonly onBusy?: () => void
}

const maxWaits = 8
const maxWaitSeconds = 60
const maxRepeats = 3

/**
 * Waits for a datastore that is busy (429, 503) or unavailable for a while, as long-running work must, and repeats a
 * GET that failed there. It does not wait for a datastore that has never responded.
 */
export function withRetry (backend: Backend, { pause = pauseFor, onBusy = () => {} }: RetryOptions = {}): SendAny {
  let hasResponded = false
  return async request => {
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await backend.send(request)
        hasResponded = true
        return response
      } catch (error) {
        const seconds = error instanceof Failure ? getWaitSeconds(error, { attempt, request, hasResponded }) : undefined
        if (seconds === undefined) throw error
        onBusy()
        await pause(seconds * 1_000)
      }
    }
  }
}

/** Whether a response was too large or came too late, so that a smaller page may succeed. */
export function isResponseTooLarge (error: unknown): boolean {
  if (!(error instanceof Failure)) return false
  return (
    error.code === 'BACKEND_TIMEOUT' ||
    (error.cause as { code?: unknown } | undefined)?.code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE'
  )
}

/** Whether a write that failed may still have taken effect. */
export function mayHaveSucceeded (error: unknown): boolean {
  return (
    error instanceof Failure &&
    (error.code === 'BACKEND_TIMEOUT' || (error.code === 'BACKEND_ERROR' && isServerError(error)))
  )
}

interface Attempt { readonly attempt: number, readonly request: BackendRequest, readonly hasResponded: boolean }

function getWaitSeconds (failure: Failure, { attempt, request, hasResponded }: Attempt): number | undefined {
  if (failure.code === 'BACKEND_UNAVAILABLE') {
    const isThere = hasResponded || getStatus(failure) !== undefined
    return isThere && attempt <= maxWaits ? Math.min(Number(failure.headers['retry-after']), maxWaitSeconds) : undefined
  }
  const isWorthwhile =
    request.method === 'GET' &&
    failure.code === 'BACKEND_ERROR' &&
    isServerError(failure) &&
    !isResponseTooLarge(failure)
  return isWorthwhile && attempt <= maxRepeats ? attempt : undefined
}

/** A broken connection or a 5xx status; not a refused credential, a redirect or a response that is not FHIR. */
function isServerError (failure: Failure): boolean {
  return (getStatus(failure) ?? 500) >= 500
}

function getStatus ({ cause }: Failure): number | undefined {
  return (cause as { status?: number } | undefined)?.status
}
