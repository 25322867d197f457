import { ClinigateError, parseRetryAfter } from './errors.js'

/** When a request is sent again. */
export interface RetryOptions {
  /** How often a request is sent at most; 1 means never again. Default 4. */
  readonly attempts?: number
  /**
   * The pause before the second attempt is shorter than this; before each further one it may be twice as long, up to
   * ten seconds. Default 250.
   */
  readonly firstPauseMs?: number
  /** No pause is longer; when the gateway requests a longer one, the request fails. Default 20,000. */
  readonly maxPauseMs?: number
  /** How long one attempt may take. Default 90,000. */
  readonly timeoutMs?: number
  /** No attempt begins later. By default only their number counts. */
  readonly totalMs?: number
  /** Called before each pause, with the number of attempts so far. */
  readonly onRetry?: (attempts: number) => void
}

/** Responses that a later attempt may better, though something may have been done. */
const passing = new Set([502, 503, 504])
const maxJitterMs = 10_000

/** A failure: the status of its response, 0 without one, and the seconds after which to come again. */
type FailedAttempt = Pick<ClinigateError, 'status' | 'retryAfter'>

/**
 * The pause before another attempt, in milliseconds; undefined where another would not help, or might do a thing twice.
 */
export function pauseAfter (
  { status, retryAfter }: FailedAttempt,
  { isRepeatable, jitterMs }: { readonly isRepeatable: boolean, readonly jitterMs: number }
): number | undefined {
  // Nothing was done.
  const isPostponed = status === 429 || (status === 409 && retryAfter !== undefined)
  const mayPass = isRepeatable && (status === 0 || passing.has(status))
  return isPostponed || mayPass ? (retryAfter ?? 0) * 1_000 + jitterMs : undefined
}

interface Attempts<T> extends RetryOptions {
  readonly attempt: () => Promise<T>
  /** The pause before another attempt; undefined where the outcome is final. */
  readonly pauseAfter: (outcome: T, jitterMs: number) => number | undefined
  /** Ends a pause. */
  readonly signal?: AbortSignal | undefined
}

/** Attempts a thing until its outcome is final, or no further attempt is allowed. Resolves with the last outcome. */
export async function attemptRepeatedly<T> (options: Attempts<T>): Promise<T> {
  const { attempt, pauseAfter, signal, onRetry, totalMs = Infinity } = options
  const { attempts = 4, firstPauseMs = 250, maxPauseMs = 20_000 } = options
  const end = performance.now() + totalMs
  for (let count = 1; ; count++) {
    const outcome = await attempt()
    // The whole range from nothing on, so that clients which failed together do not come again together.
    const jitterMs = Math.random() * Math.min(maxPauseMs, maxJitterMs, firstPauseMs * 2 ** (count - 1))
    const pauseMs = count < attempts ? pauseAfter(outcome, jitterMs) : undefined
    if (pauseMs === undefined || pauseMs > maxPauseMs || performance.now() + pauseMs > end) return outcome
    onRetry?.(count)
    await pause(pauseMs, signal)
  }
}

/**
 * Sends a request until its response is final. After a failure without a response, and after a temporary one, only
 * requests are retried that change nothing, or that are performed once, as with an Idempotency-Key.
 */
export function withRetry (
  fetch: typeof globalThis.fetch,
  options: RetryOptions = {}
): (request: Request) => Promise<Response> {
  return async request => {
    const outcome = await attemptRepeatedly({
      ...options,
      attempt: () => attemptOnce(fetch, request, options.timeoutMs ?? 90_000),
      pauseAfter: (outcome, jitterMs) => {
        const failure = 'response' in outcome
          ? { status: outcome.response.status, retryAfter: parseRetryAfter(outcome.response) }
          : { status: 0, retryAfter: undefined }
        return pauseAfter(failure, { isRepeatable: isRepeatable(request, outcome), jitterMs })
      },
      signal: request.signal
    })
    if ('response' in outcome) return outcome.response
    throw new ClinigateError('NETWORK_ERROR', noResponseMessage, { cause: outcome.error })
  }
}

const noResponseMessage = 'The gateway did not answer. Whether the request was performed is not known.'

type Outcome = { readonly response: Response } | { readonly error: unknown }

/** One attempt, with the body of its response, since the connection may break there too. */
async function attemptOnce (fetch: typeof globalThis.fetch, request: Request, timeoutMs: number): Promise<Outcome> {
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)])
  try {
    const { status, statusText, headers, body } = await fetch(request.clone(), { signal })
    const bytes = body === null ? null : await new Response(body).arrayBuffer()
    return { response: new Response(bytes, { status, statusText, headers }) }
  } catch (error) {
    request.signal.throwIfAborted()
    return { error }
  }
}

/** Cancelling a job twice cancels it once. */
const cancellation = /\/v1\/bulk\/jobs\/[^/?]+$/
/** A gateway that refuses with 503 to start an export has started none. */
const exportStart = /\/v1\/bulk\/export$/

function isRepeatable ({ method, headers, url }: Request, outcome: Outcome): boolean {
  if (method === 'GET' || method === 'HEAD' || headers.has('idempotency-key')) return true
  if (method === 'DELETE' && cancellation.test(url)) return true
  return 'response' in outcome
    ? outcome.response.status === 503 && exportStart.test(url)
    : unconnected.has(findErrorCode(outcome.error) ?? '')
}

/** Errors before anything was sent, in Node. */
const unconnected = new Set([
  'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT', 'EHOSTUNREACH', 'ENETUNREACH'
])

/** The code of an error of Node, or of what caused it; undefined for none. */
export function findErrorCode (error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, cause } = error as { code?: unknown, cause?: unknown }
  return typeof code === 'string' && !(error instanceof ClinigateError) ? code : findErrorCode(cause)
}

/** Rejects with the signal's reason when it is aborted. */
export function pause (ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
