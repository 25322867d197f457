import { request, type Dispatcher } from 'undici'
import { toClinigateError, type ClinigateError } from '../../../client/errors.js'
import { createClient, type ClinigateClient } from '../../../client/index.js'
import { attemptRepeatedly, pauseAfter, type RetryOptions } from '../../../client/retry.js'
import type { CliContext, Streams } from '../context.js'
import { fetchFromAnyPort, toHeaders } from '../fetch.js'
import { CliError, isDiskError, isRefusal } from './errors.js'

/** The dependencies of one command that speaks to a gateway. */
export interface Session {
  /** For requests that fail within seconds where there is no gateway. */
  readonly client: ClinigateClient
  /** For requests about a job that is under way: the gateway may be away for ten minutes. */
  readonly persistentClient: ClinigateClient
  readonly transfers: Transfers
  /** Aborted when the person wants the command to end. */
  readonly signal: AbortSignal
  readonly streams: Streams
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly isJson: boolean
}

/** The options of a command's session. */
interface SessionOptions { readonly url: string | undefined, readonly isJson: boolean, readonly signal: AbortSignal }

/** One attempt of a transfer, whose response the caller reads. */
type Attempt = Partial<Pick<Dispatcher.RequestOptions, 'method' | 'body' | 'headersTimeout'>> & {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Requests whose body or response may be of any size, which the client holds in memory. Paths begin after `/v1`. */
export interface Transfers {
  /** Rejects when there is no response. */
  readonly attempt: (path: string, attempt?: Attempt) => Promise<Dispatcher.ResponseData>
  /**
   * Attempts a thing that may be done twice until it is done, by default for as long as a gateway may be away. Rejects
   * with the last error, with a CliError of this text where the connection broke, or when the command is to end.
   */
  readonly retry: <T>(act: () => Promise<T>, options?: RetryOptions & { readonly brokenText?: string }) => Promise<T>
}

/** For how long it is tried to reach a gateway that was never seen. */
const shortMs = 10_000
/** How long to wait for an unavailable gateway while a job is in progress. */
const longMs = 10 * 60_000

const responseTimeoutMs = 60_000
const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Opens the session of a command that speaks to a gateway. @throws {CliError} without a URL and a key */
export function openSession (
  { environment, streams, out, err }: CliContext,
  { url: named, isJson, signal }: SessionOptions
): Session {
  const url = requireSafeUrl(named ?? environment.CLINIGATE_URL ?? 'http://127.0.0.1:8080')
  const key = requireKey(environment.CLINIGATE_API_KEY)
  const createRetryingClient = (totalMs: number): ClinigateClient => createClient({
    url,
    key,
    retry: {
      ...buildRetryOptions(totalMs),
      timeoutMs: responseTimeoutMs,
      onRetry: attempts => {
        if (attempts === 3) err('The gateway does not respond correctly; trying again.\n')
      }
    },
    fetch: fetchFromAnyPort
  })
  return {
    client: createRetryingClient(shortMs),
    persistentClient: createRetryingClient(longMs),
    transfers: createTransfers({ url, key, signal }),
    signal,
    streams,
    out,
    err,
    isJson
  }
}

const buildRetryOptions = (totalMs: number): RetryOptions =>
  ({ attempts: Infinity, firstPauseMs: 1_000, maxPauseMs: totalMs, totalMs })

function requireSafeUrl (url: string): string {
  if (!URL.canParse(url) || !/^https?:\/\/[^?#@]+$/.test(url)) {
    throw new CliError('The URL of the gateway must have the form https://api.example.org.')
  }
  const { protocol, hostname } = new URL(url)
  if (protocol === 'http:' && !loopback.has(hostname)) {
    throw new CliError('The key and the records would travel unencrypted. Use https.')
  }
  return url.replace(/\/+$/, '')
}

function requireKey (key: string | undefined): string {
  if (!key) {
    throw new CliError(
      'Set the variable CLINIGATE_API_KEY to a key. An operator creates one with clinigate keys create.'
    )
  }
  // Anything else would be an error of the library, which might repeat it.
  if (!/^[\x21-\x7e]{1,200}$/.test(key)) throw new CliError('The variable CLINIGATE_API_KEY does not contain a key.')
  return key
}

interface Target { readonly url: string, readonly key: string, readonly signal: AbortSignal }

/** Redirects are never followed: the key is for this URL only. */
function createTransfers ({ url, key, signal }: Target): Transfers {
  return {
    attempt: async (path, { headers, method = 'GET', signal: own, ...rest } = {}) =>
      await request(`${url}/v1${path}`, {
        headersTimeout: responseTimeoutMs,
        bodyTimeout: responseTimeoutMs,
        ...rest,
        method,
        headers: { accept: 'application/json', 'x-api-key': key, ...headers },
        signal: own === undefined ? signal : AbortSignal.any([signal, own])
      }),
    retry: async (act, { brokenText = 'The connection broke repeatedly.', ...options } = {}) => {
      const outcome = await attemptRepeatedly({
        ...buildRetryOptions(longMs),
        ...options,
        attempt: () => act().then(value => ({ value }), (error: unknown) => ({ error })),
        pauseAfter: (outcome, jitterMs) => {
          if (!('error' in outcome) || outcome.error instanceof CliError) return undefined
          signal.throwIfAborted()
          return getPauseAfterError(outcome.error, jitterMs)
        },
        signal
      })
      if (!('error' in outcome)) return outcome.value
      const { error } = outcome
      throw error instanceof CliError || isRefusal(error) || isDiskError(error) || signal.aborted
        ? error
        : new CliError(brokenText)
    }
  }
}

function getPauseAfterError (error: unknown, jitterMs: number): number | undefined {
  if (isDiskError(error)) return undefined
  const failure = isRefusal(error) ? error : { status: 0, retryAfter: undefined }
  return pauseAfter(failure, { isRepeatable: true, jitterMs })
}

/** The error of a response that is no success, in the words of the gateway, which never repeat a value. */
export async function readErrorResponse (response: Dispatcher.ResponseData): Promise<ClinigateError> {
  return toClinigateError(toResponse(response), await response.body.json().catch(() => undefined))
}

/** The status and the headers of a response in the client's form. */
export function toResponse ({ statusCode, headers }: Dispatcher.ResponseData): Response {
  return new Response(null, { status: statusCode, headers: toHeaders(headers) })
}
