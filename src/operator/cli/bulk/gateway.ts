import { setTimeout as pause } from 'node:timers/promises'
import { request, type Dispatcher } from 'undici'
import { retryAfterOf } from './retry-after.js'
import { CliError } from './errors.js'

/** The URL of a gateway, and the key for it. */
interface GatewayAddress { readonly url: string, readonly key: string }

/** The options of a command's requests to a gateway. */
interface GatewayOptions {
  /** Ends every request and pause. */
  readonly signal?: AbortSignal | undefined
  /** Reports an error that may be temporary. */
  readonly notice?: (text: string) => void
}

/** One request; `patienceMs` is for how long it is tried again after an error that may pass. */
interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly body?: object
  readonly timeoutMs?: number
}

/** One attempt of a request whose response the caller reads. */
type Attempt = Partial<Pick<Dispatcher.RequestOptions, 'method' | 'body' | 'headersTimeout'>> & {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** A gateway as its client sees it. Paths begin after `/v1`. */
export interface Gateway {
  /** Resolves with the `data` of the response. @throws {ApiError} @throws {CliError} without a response */
  readonly send: <T>(path: string, requested?: RequestOptions) => Promise<T>
  /** One attempt; rejects when there is no response. */
  readonly attempt: (path: string, attempt?: Attempt) => Promise<Dispatcher.ResponseData>
  /** Pauses before something is tried again; rejects when the command is to end. */
  readonly pause: (ms: number) => Promise<void>
}

/** A request that the gateway, or something before it, did not perform. */
export class ApiError extends CliError {
  constructor (
    message: string,
    readonly status: number,
    readonly retryAfterSeconds: number | undefined
  ) {
    super(message)
  }
}

/** For how long it is tried to reach a gateway that was never seen. */
const shortTimeoutMs = 10_000
/** How long to wait for an unavailable gateway while a job is in progress. */
export const requestTimeoutMs = 10 * 60_000

const responseTimeoutMs = 60_000
const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])
const standing = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'EHOSTUNREACH',
  'ENETUNREACH'
])

/** @throws {CliError} where the key would not be safe or is missing */
export function pathOf (url: string, key: string | undefined): GatewayAddress {
  if (!URL.canParse(url) || !/^https?:\/\/[^?#@]+$/.test(url)) {
    throw new CliError('The URL of the gateway must have the form https://api.example.org.')
  }
  const { protocol, hostname } = new URL(url)
  if (protocol === 'http:' && !loopback.has(hostname)) {
    throw new CliError('The key and the records would travel unencrypted. Use https.')
  }
  if (!key) {
    throw new CliError(
      'Set the variable CLINIGATE_API_KEY to a key. An operator creates one with clinigate keys create.'
    )
  }
  // Anything else would be an error of the library, which might repeat it.
  if (!/^[\x21-\x7e]{1,200}$/.test(key)) throw new CliError('The variable CLINIGATE_API_KEY does not contain a key.')
  return { url: url.replace(/\/+$/, ''), key }
}

/** The gateway at a URL. Redirects are never followed: the key is for this URL only. */
export function gatewayAt ({ url, key }: GatewayAddress, { signal, notice = () => {} }: GatewayOptions = {}): Gateway {
  const attempt: Gateway['attempt'] = async (path, { headers, method = 'GET', signal: own, ...rest } = {}) => {
    const signals = [signal, own].filter(each => each !== undefined)
    return await request(`${url}/v1${path}`, {
      headersTimeout: responseTimeoutMs,
      bodyTimeout: responseTimeoutMs,
      ...rest,
      method,
      headers: { accept: 'application/json', 'x-api-key': key, ...headers },
      ...(signals.length > 0 && { signal: AbortSignal.any(signals) })
    })
  }
  const once = async <T>(path: string, { method = 'GET', body }: RequestOptions): Promise<T> =>
    await dataOf<T>(
      await attempt(path, {
        method,
        ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
      })
    )
  const wait: Gateway['pause'] = async ms => { await pause(ms, undefined, signal && { signal }) }
  return {
    attempt,
    pause: wait,
    send: async (path, requested = {}) => {
      const end = performance.now() + (requested.timeoutMs ?? shortTimeoutMs)
      for (let tries = 1; ; tries++) {
        try {
          return await once(path, requested)
        } catch (error) {
          signal?.throwIfAborted()
          const ms = retryDelayMs(error, { tries, isSafe: requested.method !== 'POST' })
          if (ms === undefined || performance.now() + ms > end) throw describe(error)
          if (tries === 3) notice('The gateway does not respond correctly; trying again.')
          await wait(ms)
        }
      }
    }
  }
}

/**
 * How long to wait before another attempt, in milliseconds; undefined where another would not help or could do a thing
 * twice.
 */
export function retryDelayMs (
  error: unknown,
  { tries, isSafe }: { readonly tries: number; readonly isSafe: boolean }
): number | undefined {
  // The full range from 0, so that clients which failed at the same time do not retry at the same time.
  const jitter = Math.random() * Math.min(10_000, 500 * 2 ** tries)
  if (!(error instanceof ApiError)) return isSafe || standing.has(codeOf(error)) ? jitter : undefined
  const { status, retryAfterSeconds = 1 } = error
  if (status === 429 || status === 503) return retryAfterSeconds * 1_000 + jitter
  return isSafe && (status === 502 || status === 504) ? jitter : undefined
}

/** The `data` of a response. @throws {ApiError} */
export async function dataOf<T> (response: Dispatcher.ResponseData): Promise<T> {
  if (response.statusCode >= 300) throw await refusalOf(response)
  const read = (await response.body.json().catch(error => {
    if (error instanceof SyntaxError) return undefined
    throw error
  })) as { readonly data?: T } | undefined
  if (read?.data === undefined || read.data === null) throw notAGateway(response)
  return read.data
}

/** A response that is no success, in the words of the gateway, which never repeat a value. */
export async function refusalOf (response: Dispatcher.ResponseData): Promise<ApiError> {
  const read = (await response.body.json().catch(() => undefined)) as
    { message?: unknown; issues?: ReadonlyArray<{ diagnostics: string; expression?: readonly string[] }> } | undefined
  if (typeof read?.message !== 'string') return notAGateway(response)
  const lines = (read.issues ?? []).map(
    ({ diagnostics, expression: [field] = [] }) => `\n  - ${field === undefined ? '' : `${field}: `}${diagnostics}`
  )
  return new ApiError(read.message + lines.join(''), response.statusCode, retryAfterOf(response))
}

const notAGateway = (response: Dispatcher.ResponseData): ApiError =>
  new ApiError(
    `The server at the URL is not a gateway (status ${response.statusCode}). Check --url.`,
    response.statusCode,
    retryAfterOf(response)
  )

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'no connection'

function describe (error: unknown): CliError {
  return error instanceof CliError
    ? error
    : new CliError(`The gateway does not respond (${codeOf(error)}). Check --url and that the gateway is running.`)
}
