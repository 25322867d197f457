import { setTimeout as pause } from 'node:timers/promises'
import { Pool, type Dispatcher } from 'undici'
import { fixedAuthorization, type Authorization } from './authentication/authorization.js'
import { Failure } from '../envelope/failures.js'
import type { Backend, BackendAnswer, BackendRequest, BackendStream, StreamRequest } from './backend.js'
import { exchange, ExchangeBroken } from './exchange.js'
import { streamed } from './stream.js'
import { answerFailure, brokenFailure, retryAfterSeconds } from './trouble.js'
import type { Upstream } from './upstream.js'
import type { ClientCertificate } from '../config/datastore-connection.js'

/** One datastore's address and the bounds of every exchange with it. */
export interface HttpBackendOptions {
  readonly name: string
  /** The FHIR base URL, http or https, with or without a path; no credentials, query or fragment. */
  readonly baseUrl: string
  readonly authorization?: Authorization
  /** Certificate authorities in PEM, in place of the system's. The certificate is always verified. */
  readonly ca?: string | readonly string[]
  /** The gateway's own certificate there, in PEM. */
  readonly certificate?: ClientCertificate
  /** Sent with each request, by names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly connections?: number
  readonly connectTimeoutMs?: number
  /** From the request's last byte to the answer's headers. */
  readonly headersTimeoutMs?: number
  /** Between two pieces of the body. */
  readonly bodyTimeoutMs?: number
  /** For the whole of one `send`, waiting for a connection and the second try included. */
  readonly totalTimeoutMs?: number
  readonly maxResponseBytes?: number
  readonly retryPauseMs?: number
}

/** Connections to a datastore at a time. */
export const defaultConnections = 64

const defaults: Required<Omit<HttpBackendOptions, 'name' | 'baseUrl' | 'ca' | 'certificate'>> = {
  authorization: fixedAuthorization(),
  headers: {},
  connections: defaultConnections,
  connectTimeoutMs: 5_000,
  headersTimeoutMs: 30_000,
  bodyTimeoutMs: 15_000,
  totalTimeoutMs: 60_000,
  maxResponseBytes: 64 * 1024 * 1024,
  retryPauseMs: 100
}

/** What is asked for to learn whether a datastore answers, a read that finds nothing: HAPI takes 0.3 s of processor time for its CapabilityStatement. */
export const probePath = 'Patient/clinigate-probe'

/** A {@link Backend} behind HTTP/1.1. Nothing of a client's request passes but what the guard built anew. */
export class HttpBackend implements Backend {
  readonly name: string
  readonly baseUrl: string
  readonly upstream: Upstream
  readonly #basePath: string
  readonly #pool: Pool
  /** For files, which are of any size and must not take the connections of what is waited for. */
  readonly #files: Pool
  /** Apart, since the others may all be waiting for a server that is slow and not away. */
  readonly #probes: Pool
  readonly #options: HttpBackendOptions & typeof defaults
  #closed: Promise<unknown> | undefined

  constructor (options: HttpBackendOptions) {
    const url = addressOf(options.baseUrl)
    this.#options = { ...defaults, ...definedOf(options) }
    this.name = options.name
    this.#basePath = url.pathname.replace(/\/+$/, '')
    this.baseUrl = url.origin + this.#basePath
    this.#pool = openPool(url.origin, this.#options)
    this.#files = openPool(url.origin, { ...this.#options, connections: fileConnections, maxResponseBytes: -1 })
    this.#probes = openPool(url.origin, { ...this.#options, connections: 1 })
    this.upstream = {
      origin: url.origin,
      basePath: this.#basePath,
      request: (request, answered) => { this.#carried(request).then(answer => answered(null, answer), error => answered(error, undefined as never)) }
    }
  }

  async send (request: BackendRequest): Promise<BackendAnswer> {
    const due = performance.now() + this.#options.totalTimeoutMs
    const header = this.#options.authorization.header()
    // Waited for only when it is not at hand.
    const authorization = typeof header === 'object' ? await header : header
    let answer = await this.#answered({ request, authorization, due })
    if (answer.status === 401 && this.#options.authorization.refused(authorization)) {
      answer = await this.#answered({ request, authorization: await this.#options.authorization.header(), due })
    }
    const failure = answerFailure(request, answer)
    if (failure !== undefined) throw failure
    return answer
  }

  async stream ({ path, accept, headers, signal }: StreamRequest): Promise<BackendStream> {
    const request: BackendRequest = { method: 'GET', path, ...headers !== undefined && { headers } }
    return await this.#authorized(authorization => {
      const rebuilt = this.#rebuilt(request, authorization)
      return streamed(this.#files, { request, accept, signal, rebuilt: { ...rebuilt, headers: { ...rebuilt.headers as Record<string, string>, accept: accept.join(', ') } } })
    }, { ofError: error => error instanceof Failure && (error.cause as { status?: unknown } | undefined)?.status === 401 })
  }

  async probe (): Promise<boolean> {
    const request: BackendRequest = { method: 'GET', path: probePath }
    try {
      const budgetMs = Math.min(this.#options.connectTimeoutMs, longestProbeMs)
      const answer = await this.#authorized(authorization => exchange(this.#probes, this.#rebuilt(request, authorization), budgetMs), { ofAnswer: answer => answer.status === 401 })
      return answerFailure(request, answer) === undefined
    } catch {
      return false
    }
  }

  async close (): Promise<void> {
    this.#closed ??= Promise.all([this.#options.authorization.close(), this.#pool.close(), this.#files.close(), this.#probes.close()])
    await this.#closed
  }

  async #carried (options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
    const signal = AbortSignal.timeout(this.#options.totalTimeoutMs)
    return await this.#authorized(authorization => {
      const headers = { ...this.#options.headers, ...options.headers as Record<string, string>, ...authorization !== undefined && { authorization } }
      return this.#pool.request({ ...options, headers, signal })
    }, { ofAnswer: answer => answer.statusCode === 401, leave: answer => answer.body.dump() })
  }

  /** Asks, and asks once more where the credential was refused: whatever was asked for, a 401 says that nothing was done. */
  async #authorized<T> (ask: (authorization: string | undefined) => Promise<T>, { ofAnswer = () => false, ofError = () => false, leave }: Refusal<T>): Promise<T> {
    const { authorization } = this.#options
    const header = await authorization.header()
    const isRefused = (refused: boolean) => refused && authorization.refused(header)
    try {
      const answer = await ask(header)
      if (!isRefused(ofAnswer(answer))) return answer
      await leave?.(answer)
    } catch (error) {
      if (!isRefused(ofError(error))) throw error
    }
    return await ask(await authorization.header())
  }

  async #answered (attempt: Attempt): Promise<BackendAnswer> {
    try {
      return await this.#triedTwice(attempt)
    } catch (error) {
      throw brokenFailure(attempt.request, error)
    }
  }

  /** The one place where a request that may have been seen is repeated: a GET, once, when the connection broke or a server in between was at a loss. */
  async #triedTwice ({ request, authorization, due }: Attempt): Promise<BackendAnswer> {
    const first = exchange(this.#pool, this.#rebuilt(request, authorization), Math.max(due - performance.now(), 1))
    if (request.method !== 'GET' || !await isWorthRepeating(first)) return first
    await pause(this.#options.retryPauseMs)
    const left = due - performance.now()
    return left > 0 ? exchange(this.#pool, this.#rebuilt(request, authorization), left) : first
  }

  #rebuilt ({ method, path, headers = {}, body, form }: BackendRequest, authorization: string | undefined): Dispatcher.DispatchOptions {
    const sent: Record<string, string | undefined> = { ...this.#options.headers, accept: 'application/fhir+json', authorization }
    for (const name in headers) {
      if (!mayBeSent.has(name)) throw new Error(`the header ${name} must not be sent to a datastore`)
      sent[name] = headers[name]
    }
    if (body !== undefined) sent['content-type'] = 'application/fhir+json; charset=utf-8'
    if (form !== undefined) sent['content-type'] = 'application/x-www-form-urlencoded; charset=utf-8'
    return { method, path: this.#pathOf(path), headers: sent, body: body ?? form ?? null }
  }

  #pathOf (path: string): string {
    return path === '' || path.startsWith('?') ? `${this.#basePath || '/'}${path}` : `${this.#basePath}/${path}`
  }
}

const fileConnections = 8

/** A server that takes longer to answer the smallest question is not there for its clients. */
const longestProbeMs = 3_000

/** One way of a request to the server. */
interface Attempt {
  readonly request: BackendRequest
  readonly authorization: string | undefined
  /** When the whole `send` must be over, by `performance.now()`. */
  readonly due: number
}

/** How a refused credential is seen, by the answer or by the failure that was made of it. */
interface Refusal<T> {
  readonly ofAnswer?: (answer: T) => boolean
  readonly ofError?: (error: unknown) => boolean
  /** Lets go of an answer that nobody reads. */
  readonly leave?: (answer: T) => Promise<unknown>
}

const mayBeSent = new Set(['if-match', 'if-none-exist', 'prefer', 'cache-control', 'x-request-id', 'traceparent'])

async function isWorthRepeating (first: Promise<BackendAnswer>): Promise<boolean> {
  try {
    const answer = await first
    // A server that names a time to wait is not asked again before it.
    return [502, 503, 504].includes(answer.status) && retryAfterSeconds(answer) === undefined
  } catch (error) {
    return error instanceof ExchangeBroken && error.sent && error.why === 'reset'
  }
}

function openPool (origin: string, options: HttpBackendOptions & typeof defaults): Pool {
  return new Pool(origin, {
    connections: options.connections,
    headersTimeout: options.headersTimeoutMs,
    bodyTimeout: options.bodyTimeoutMs,
    maxResponseSize: options.maxResponseBytes,
    // Said outright, because an environment variable could else switch it off.
    connect: { timeout: options.connectTimeoutMs, rejectUnauthorized: true, ...options.ca !== undefined && { ca: [options.ca].flat() as string[] }, ...options.certificate }
  })
}

function addressOf (baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === ''
  if (!isPlain) throw new Error('the base URL of a datastore must use http or https and have no credentials, query or fragment')
  return url
}

function definedOf<T extends object> (options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T
}
