import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import type { Dispatcher } from 'undici'
import type { Authorization } from './authentication.js'
import type { Backend, BackendAnswer, BackendRequest, BackendStream, StreamRequest } from './backend.js'
import { exchange, ExchangeBroken } from './exchange.js'
import { streamed } from './stream.js'
import { answerFailure, brokenFailure, retryAfterSeconds } from './trouble.js'
import type { Upstream } from './upstream.js'

/** One datastore's address and the bounds of every exchange with it. */
export interface HttpBackendOptions {
  readonly name: string
  /** The FHIR base URL, http or https, with or without a path; no credentials, query or fragment. */
  readonly baseUrl: string
  readonly authorization?: Authorization
  /** Certificate authorities in PEM, in place of the system's. The certificate is always verified. */
  readonly ca?: string | readonly string[]
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

const defaults: Required<Omit<HttpBackendOptions, 'name' | 'baseUrl' | 'ca'>> = {
  authorization: () => undefined,
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
      authorization: this.#options.authorization,
      request: (request, answered) => this.#pool.request({ ...request, signal: AbortSignal.timeout(this.#options.totalTimeoutMs) }, answered)
    }
  }

  async send (request: BackendRequest): Promise<BackendAnswer> {
    const answer = await this.#answered(request)
    const failure = answerFailure(request, answer)
    if (failure !== undefined) throw failure
    return answer
  }

  async stream ({ path, accept, headers, signal }: StreamRequest): Promise<BackendStream> {
    const request: BackendRequest = { method: 'GET', path, ...headers !== undefined && { headers } }
    const rebuilt = this.#rebuilt(request)
    return await streamed(this.#files, { request, accept, signal, rebuilt: { ...rebuilt, headers: { ...rebuilt.headers as Record<string, string>, accept: accept.join(', ') } } })
  }

  async probe (): Promise<boolean> {
    const request: BackendRequest = { method: 'GET', path: probePath }
    try {
      const answer = await exchange(this.#probes, this.#rebuilt(request), Math.min(this.#options.connectTimeoutMs, longestProbeMs))
      return answerFailure(request, answer) === undefined
    } catch {
      return false
    }
  }

  async close (): Promise<void> {
    await Promise.all([this.#pool.close(), this.#files.close(), this.#probes.close()])
  }

  async #answered (request: BackendRequest): Promise<BackendAnswer> {
    try {
      return await this.#triedTwice(request)
    } catch (error) {
      throw brokenFailure(request, error)
    }
  }

  /** The one place where a request is repeated: a GET, once, when the connection broke or a server in between was at a loss. */
  async #triedTwice (request: BackendRequest): Promise<BackendAnswer> {
    const { totalTimeoutMs, retryPauseMs } = this.#options
    const deadline = performance.now() + totalTimeoutMs
    const first = exchange(this.#pool, this.#rebuilt(request), totalTimeoutMs)
    if (request.method !== 'GET' || !await isWorthRepeating(first)) return first
    await pause(retryPauseMs)
    const left = deadline - performance.now()
    return left > 0 ? exchange(this.#pool, this.#rebuilt(request), left) : first
  }

  #rebuilt ({ method, path, headers = {}, body, form }: BackendRequest): Dispatcher.DispatchOptions {
    const sent: Record<string, string | undefined> = { accept: 'application/fhir+json', authorization: this.#options.authorization() }
    for (const name in headers) {
      if (!mayBeSent.has(name)) throw new Error(`the header ${name} is not sent to a datastore`)
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

const mayBeSent = new Set(['if-match', 'if-none-exist', 'prefer', 'cache-control', 'x-request-id'])

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
    connect: { timeout: options.connectTimeoutMs, rejectUnauthorized: true, ...(options.ca === undefined ? {} : { ca: [options.ca].flat() as string[] }) }
  })
}

function addressOf (baseUrl: string): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === ''
  if (!isPlain) throw new Error('the base URL of a datastore must be http or https, without credentials, query and fragment')
  return url
}

function definedOf<T extends object> (options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T
}
