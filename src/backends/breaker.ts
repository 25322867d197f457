import { Failure } from '../envelope/failures.js'
import { BackgroundTask } from '../time/background-task.js'
import type { Backend, BackendRequest, BackendStream } from './backend.js'
import { decorateBackend } from './decorate.js'
import { TransportError } from './exchange.js'
import { toTransportFailure } from './failures.js'
import type { UpstreamResponse, Upstream } from './upstream.js'

/** `closed` lets requests through; `open` refuses them immediately, since the datastore does not respond. */
type CircuitState = 'closed' | 'open'

/** All times are in milliseconds. */
interface BreakerParts {
  /** Whether the server responds at all. Never throws, and takes a few seconds at most. */
  readonly probe: () => Promise<boolean>
  readonly onChange?: (state: CircuitState) => void
  /** The interval between probes. */
  readonly pauseMs?: number
  /** How long requests may wait without any response before the datastore is probed. */
  readonly silenceMs?: number
}

/**
 * The circuit breaker of one datastore. After a server error, or silence, it probes the server itself. It opens only if
 * that probe fails too, so that no client's requests can lock out others. It continues to probe, and closes at the
 * first response.
 */
export class Breaker {
  readonly #parts: Required<BreakerParts>
  #state: CircuitState = 'closed'
  #probeTask: BackgroundTask | undefined
  #probedAt = -Infinity
  #waiting = 0
  #lastResponseAt = 0
  #silenceTimer: NodeJS.Timeout | undefined

  constructor (parts: BreakerParts) {
    this.#parts = { onChange: () => {}, pauseMs: 1_000, silenceMs: 5_000, ...parts }
  }

  get state (): CircuitState {
    return this.#state
  }

  /** Puts this breaker in front of the datastore, or of an organization's share of it. */
  guard (backend: Backend): Backend {
    return decorateBackend(backend, {
      upstream: this.#guardUpstream(backend.upstream),
      send: request => this.#trackRequest(() => backend.send(request)),
      stream: request => this.#trackRequest(async () => this.#watchStream(await backend.stream(request)))
    })
  }

  /** Stops probing. */
  close (): void {
    clearTimeout(this.#silenceTimer)
    this.#probeTask?.stop().catch(() => {})
  }

  /** Observes the response without delaying it: each promise more would cost every request. */
  #trackRequest<T> (work: () => Promise<T>): Promise<T> {
    if (this.#state === 'open') {
      return Promise.reject(toTransportFailure(unsent, new TransportError('reset', false, new CircuitOpen())))
    }
    this.#begin()
    const response = work()
    response.then(this.#onResponse, this.#onError)
    return response
  }

  readonly #onResponse = (): void => this.#end(false)

  readonly #onError = (error: unknown): void => this.#end(isFailure(error))

  #guardUpstream (upstream: Upstream): Upstream {
    const request = (options: Parameters<Upstream['request']>[0], upstreamResponse: UpstreamResponse) => {
      if (this.#state === 'open') return queueMicrotask(() => upstreamResponse(new CircuitOpen(), undefined as never))
      this.#begin()
      upstream.request(options, (error, response) => {
        this.#end(error !== null || isErrorStatus(response.statusCode))
        upstreamResponse(error, response)
      })
    }
    return { ...upstream, request }
  }

  #watchStream (stream: BackendStream): BackendStream {
    const { body } = stream
    const watchBody = async function * (this: Breaker) {
      try {
        yield * body
      } catch (error) {
        if (isFailure(error)) this.#probeIfDue()
        throw error
      }
    }
    return { ...stream, body: watchBody.call(this) }
  }

  #begin (): void {
    if (this.#waiting++ === 0) this.#lastResponseAt = performance.now()
    this.#silenceTimer ??= setTimeout(() => this.#checkSilence(), this.#parts.silenceMs).unref()
  }

  #end (wasFailing: boolean): void {
    this.#waiting--
    if (wasFailing) this.#probeIfDue()
    else this.#lastResponseAt = performance.now()
  }

  #checkSilence (): void {
    this.#silenceTimer = undefined
    if (this.#waiting === 0) return
    const { silenceMs } = this.#parts
    const silentMs = performance.now() - this.#lastResponseAt
    if (silentMs >= silenceMs) this.#probeIfDue()
    this.#silenceTimer = setTimeout(
      () => this.#checkSilence(),
      silentMs >= silenceMs ? silenceMs : silenceMs - silentMs
    ).unref()
  }

  /** Probes, unless a probe is in progress or was made within the interval. */
  #probeIfDue (): void {
    if (this.#probeTask !== undefined || performance.now() - this.#probedAt < this.#parts.pauseMs) return
    this.#probeTask = new BackgroundTask(async stopping => {
      const isResponding = await this.#parts.probe()
      this.#probedAt = performance.now()
      if (!stopping.aborted) this.#setState(isResponding ? 'closed' : 'open')
      return this.#parts.pauseMs
    })
  }

  #setState (state: CircuitState): void {
    const isChanged = state !== this.#state
    this.#state = state
    if (state === 'closed') {
      this.#lastResponseAt = this.#probedAt
      this.#probeTask?.stop().catch(() => {})
      this.#probeTask = undefined
    }
    if (isChanged) this.#parts.onChange(state)
  }
}

/** A placeholder for any request, since no server has received it. */
const unsent: BackendRequest = { method: 'GET', path: '' }

/**
 * The circuit is open, so nothing was sent. The code shows the error mapping that no server has received the request.
 */
export class CircuitOpen extends Error {
  readonly code = 'CIRCUIT_OPEN'

  constructor () {
    super('the datastore did not answer; requests resume when it does')
  }
}

/** Whether a failure is one of the server or the network, and not a deliberate response such as 401 or 429. */
function isFailure (error: unknown): boolean {
  if (!(error instanceof Failure) || error.status < 500) return false
  const { status } = Object(error.cause) as { readonly status?: unknown }
  return typeof status !== 'number' || isErrorStatus(status)
}

function isErrorStatus (status: number): boolean {
  return status >= 500 && status !== 501
}
