import { setTimeout as pause } from 'node:timers/promises'
import { Pool, type Dispatcher } from 'undici'
import { createFixedAuthorization, type Authorization } from './authentication/authorization.js'
import { Failure } from '../envelope/failures.js'
import type { Backend, BackendResponse, BackendRequest, BackendStream, StreamRequest } from './backend.js'
import { restoreEntryIds } from './entry-ids.js'
import { exchange, TransportError } from './exchange.js'
import { sendStream } from './stream.js'
import { checkResponse, toTransportFailure, parseRetryAfter } from './failures.js'
import { RelativeReferences } from './relative-references.js'
import type { Upstream } from './upstream.js'
import type { ClientCertificate } from '../config/datastore-connection.js'

/** The address of a datastore and the limits of each exchange. */
export interface HttpBackendOptions {
  readonly name: string
  /** The FHIR base URL: http or https, with or without a path, without credentials, query and fragment. */
  readonly baseUrl: string
  readonly authorization?: Authorization
  /** Certificate authorities in PEM, instead of the system's. The certificate is always verified. */
  readonly ca?: string | readonly string[]
  /** The gateway's client certificate, in PEM. */
  readonly certificate?: ClientCertificate
  /** Sent with each request. Names are in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly connections?: number
  readonly connectTimeoutMs?: number
  /** From the end of the request to the response headers. */
  readonly headersTimeoutMs?: number
  /** Between two chunks of the body. */
  readonly bodyTimeoutMs?: number
  /** For a complete `send`, including the wait for a connection and the retry. */
  readonly totalTimeoutMs?: number
  readonly maxResponseBytes?: number
  readonly retryPauseMs?: number
}

/** The default for concurrent connections to a datastore. */
export const defaultConnections = 64

const defaults: Required<Omit<HttpBackendOptions, 'name' | 'baseUrl' | 'ca' | 'certificate'>> = {
  authorization: createFixedAuthorization(),
  headers: {},
  connections: defaultConnections,
  connectTimeoutMs: 5_000,
  headersTimeoutMs: 30_000,
  bodyTimeoutMs: 15_000,
  totalTimeoutMs: 60_000,
  maxResponseBytes: 64 * 1024 * 1024,
  retryPauseMs: 100
}

/** The path of the health probe, a read that finds nothing. HAPI's CapabilityStatement would take 0.3 s of CPU time. */
export const probePath = 'Patient/clinigate-probe'

/** A {@link Backend} over HTTP/1.1. It only sends requests that the guard built. */
export class HttpBackend implements Backend {
  readonly name: string
  readonly baseUrl: string
  readonly upstream: Upstream
  readonly #basePath: string
  readonly #references: RelativeReferences
  readonly #pool: Pool
  /** For files, which may be large and must not occupy the connections of other requests. */
  readonly #filePool: Pool
  /** For probes, since all other connections may be waiting for a slow server. */
  readonly #probePool: Pool
  readonly #options: HttpBackendOptions & typeof defaults
  #closed: Promise<unknown> | undefined

  constructor (options: HttpBackendOptions) {
    const url = parseBaseUrl(options.baseUrl)
    this.#options = { ...defaults, ...omitUndefined(options) }
    this.name = options.name
    this.#basePath = url.pathname.replace(/\/+$/, '')
    this.baseUrl = url.origin + this.#basePath
    this.#references = new RelativeReferences(this.baseUrl)
    this.#pool = openPool(url.origin, this.#options)
    this.#filePool = openPool(url.origin, { ...this.#options, connections: fileConnections, maxResponseBytes: -1 })
    this.#probePool = openPool(url.origin, { ...this.#options, connections: 1 })
    this.upstream = {
      identity: this,
      origin: url.origin,
      basePath: this.#basePath,
      request: (request, upstreamResponse) => {
        this.#forwardRequest(request).then(
          response => upstreamResponse(null, response),
          error => upstreamResponse(error, undefined as never)
        )
      }
    }
  }

  async send (request: BackendRequest): Promise<BackendResponse> {
    const due = performance.now() + this.#options.totalTimeoutMs
    const header = this.#options.authorization.header()
    // Awaited only if it is not available immediately.
    const authorization = typeof header === 'object' ? await header : header
    let response = await this.#sendAuthorized({ request, authorization, due })
    if (response.status === 401 && this.#options.authorization.invalidate(authorization)) {
      response = await this.#sendAuthorized({ request, authorization: await this.#options.authorization.header(), due })
    }
    const failure = checkResponse(request, response)
    if (failure !== undefined) throw failure
    return response
  }

  async stream ({ path, accept, headers, signal }: StreamRequest): Promise<BackendStream> {
    const request: BackendRequest = { method: 'GET', path, ...(headers !== undefined && { headers }) }
    return await this.#retryOnUnauthorized(
      authorization => {
        const rebuilt = this.#buildRequest(request, authorization)
        return sendStream(this.#filePool, {
          request,
          accept,
          signal,
          rebuilt: {
            ...rebuilt,
            headers: { ...(rebuilt.headers as Record<string, string>), accept: accept.join(', ') }
          }
        })
      },
      {
        ofError: error => error instanceof Failure && (error.cause as { status?: unknown } | undefined)?.status === 401
      }
    )
  }

  normalize (line: string): string {
    return restoreEntryIds(this.#references.relativize(line))
  }

  async probe (): Promise<boolean> {
    const request: BackendRequest = { method: 'GET', path: probePath }
    try {
      const budgetMs = Math.min(this.#options.connectTimeoutMs, maxProbeMs)
      const response = await this.#retryOnUnauthorized(
        authorization =>
          exchange(this.#probePool, this.#buildRequest(request, authorization), {
            budgetMs,
            references: this.#references
          }),
        { ofResponse: result => result.status === 401 }
      )
      return checkResponse(request, response) === undefined
    } catch {
      return false
    }
  }

  async close (): Promise<void> {
    this.#closed ??= Promise.all([
      this.#options.authorization.close(),
      this.#pool.close(),
      this.#filePool.close(),
      this.#probePool.close()
    ])
    await this.#closed
  }

  async #forwardRequest (options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
    const signal = AbortSignal.timeout(this.#options.totalTimeoutMs)
    return await this.#retryOnUnauthorized(
      authorization => {
        const headers = {
          ...this.#options.headers,
          ...(options.headers as Record<string, string>),
          ...(authorization !== undefined && { authorization })
        }
        return this.#pool.request({ ...options, headers, signal })
      },
      { ofResponse: response => response.statusCode === 401, leave: response => response.body.dump() }
    )
  }

  /**
   * Sends a request, and repeats it once if the credential was refused. That is safe for any request, since a 401 means
   * that nothing was done.
   */
  async #retryOnUnauthorized<T>(
    sendAuthorized: (authorization: string | undefined) => Promise<T>,
    { ofResponse = () => false, ofError = () => false, leave }: Refusal<T>
  ): Promise<T> {
    const { authorization } = this.#options
    const header = await authorization.header()
    const isRefused = (refused: boolean) => refused && authorization.invalidate(header)
    try {
      const response = await sendAuthorized(header)
      if (!isRefused(ofResponse(response))) return response
      await leave?.(response)
    } catch (error) {
      if (!isRefused(ofError(error))) throw error
    }
    return await sendAuthorized(await authorization.header())
  }

  /**
   * The only place that repeats a request which the server may have received: a GET, once, if the connection broke or
   * an intermediary failed.
   */
  async #sendAuthorized ({ request, authorization, due }: Attempt): Promise<BackendResponse> {
    for (let mayRepeat = request.method === 'GET'; ; mayRepeat = false) {
      const budgetMs = Math.max(due - performance.now(), 1)
      const canRepeat = () => mayRepeat && due - performance.now() > this.#options.retryPauseMs
      try {
        const rebuilt = this.#buildRequest(request, authorization)
        const response = await exchange(this.#pool, rebuilt, { budgetMs, references: this.#references })
        if (!isIntermediaryFailure(response) || !canRepeat()) return response
      } catch (error) {
        if (!isBrokenConnection(error) || !canRepeat()) throw toTransportFailure(request, error)
      }
      await pause(this.#options.retryPauseMs)
    }
  }

  #buildRequest (
    { method, path, headers = {}, body, form }: BackendRequest,
    authorization: string | undefined
  ): Dispatcher.DispatchOptions {
    const sent: Record<string, string | undefined> = {
      ...this.#options.headers,
      accept: 'application/fhir+json',
      authorization
    }
    for (const name in headers) {
      if (!mayBeSent.has(name)) throw new Error(`the header ${name} must not be sent to a datastore`)
      sent[name] = headers[name]
    }
    if (body !== undefined) sent['content-type'] = 'application/fhir+json; charset=utf-8'
    if (form !== undefined) sent['content-type'] = 'application/x-www-form-urlencoded; charset=utf-8'
    return { method, path: this.#buildPath(path), headers: sent, body: body ?? form ?? null }
  }

  #buildPath (path: string): string {
    return path === '' || path.startsWith('?') ? `${this.#basePath || '/'}${path}` : `${this.#basePath}/${path}`
  }
}

const fileConnections = 8

/** The timeout of a probe. A server that takes longer for the smallest request is not usable. */
const maxProbeMs = 3_000

/** One attempt at a request. */
interface Attempt {
  readonly request: BackendRequest
  readonly authorization: string | undefined
  /** The deadline of the complete `send`, by `performance.now()`. */
  readonly due: number
}

/** How to recognize a refused credential, from the response or from the failure. */
interface Refusal<T> {
  readonly ofResponse?: (response: T) => boolean
  readonly ofError?: (error: unknown) => boolean
  /** Discards a response that is not read. */
  readonly leave?: (response: T) => Promise<unknown>
}

const mayBeSent = new Set(['if-match', 'if-none-exist', 'prefer', 'cache-control', 'x-request-id', 'traceparent'])

/** Whether something before the server failed. One that sends Retry-After gets no second request before that time. */
function isIntermediaryFailure (response: BackendResponse): boolean {
  const { status } = response
  return (status === 502 || status === 503 || status === 504) && parseRetryAfter(response) === undefined
}

function isBrokenConnection (error: unknown): boolean {
  return error instanceof TransportError && error.sent && error.why === 'reset'
}

function openPool (origin: string, options: HttpBackendOptions & typeof defaults): Pool {
  return new Pool(origin, {
    connections: options.connections,
    headersTimeout: options.headersTimeoutMs,
    bodyTimeout: options.bodyTimeoutMs,
    maxResponseSize: options.maxResponseBytes,
    // Set explicitly, since an environment variable could otherwise switch it off.
    connect: {
      timeout: options.connectTimeoutMs,
      rejectUnauthorized: true,
      ...(options.ca !== undefined && { ca: [options.ca].flat() as string[] }),
      ...options.certificate
    }
  })
}

function parseBaseUrl (baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  const isPlain =
    url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === ''
  if (!isPlain) {
    throw new Error('the base URL of a datastore must use http or https and have no credentials, query or fragment')
  }
  return url
}

function omitUndefined<T extends object> (options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T
}
