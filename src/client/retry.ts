import { ClinigateError, retryAfterOf } from './errors.js'

/** When a request is sent again. */
export interface RetryOptions {
  /** How often a request is sent at most; 1 means never again. Default 4. */
  readonly attempts?: number
  /**
   * The pause before the second attempt is shorter than this; before each further one it may be twice as long. Default
   * 250.
   */
  readonly firstPauseMs?: number
  /** No pause is longer; when the gateway asks for a longer one, the request fails. Default 20,000. */
  readonly maxPauseMs?: number
  /** How long one attempt may take. Default 90,000. */
  readonly timeoutMs?: number
}

/** Answers that a later attempt may better, though something may have been done. */
const passing = new Set([502, 503, 504])
/** Answers that say when to come again; nothing was done. */
const postponing = new Set([409, 429])

/**
 * Sends a request until it is answered for good. After a failure without an answer, and after a passing one, only those
 * requests are sent again that do nothing, or that do it once for their Idempotency-Key.
 */
export function withRetry (
  fetch: typeof globalThis.fetch,
  options: RetryOptions = {},
  random: () => number = Math.random
): (request: Request) => Promise<Response> {
  const { attempts = 4, firstPauseMs = 250, maxPauseMs = 20_000, timeoutMs = 90_000 } = options
  // The whole range from nothing on, so that clients which failed together do not come again together.
  const jitter = (attempt: number): number => random() * Math.min(maxPauseMs, firstPauseMs * 2 ** (attempt - 1))
  return async request => {
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt >= attempts
      const outcome = await attemptOnce(fetch, request, timeoutMs)
      const pauseMs = isLast ? undefined : pauseAfter(outcome, request, jitter(attempt))
      if (pauseMs !== undefined && pauseMs <= maxPauseMs) await pause(pauseMs, request.signal)
      else if ('response' in outcome) return outcome.response
      else throw new ClinigateError('NETWORK_ERROR', noResponseMessage, { cause: outcome.error })
    }
  }
}

const noResponseMessage = 'The gateway did not answer. Whether the request was performed is not known.'

type Outcome = { readonly response: Response } | { readonly error: unknown }

/** One attempt, with the body of its answer, since the connection may break there too. */
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

function pauseAfter (outcome: Outcome, request: Request, jitterMs: number): number | undefined {
  if (!('response' in outcome)) return mayRepeat(request) ? jitterMs : undefined
  const { response } = outcome
  const retryAfter = retryAfterOf(response)
  const isPostponed = postponing.has(response.status) && retryAfter !== undefined
  if (!isPostponed && !(passing.has(response.status) && mayRepeat(request))) return undefined
  return retryAfter === undefined ? jitterMs : retryAfter * 1_000 + jitterMs
}

const mayRepeat = ({ method, headers }: Request): boolean =>
  method === 'GET' || method === 'HEAD' || headers.has('idempotency-key')

function pause (ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}
