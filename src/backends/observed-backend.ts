import { Failure } from '../envelope/failures.js'
import type { Backend } from './backend.js'
import { decorateBackend } from './decorate.js'
import { toTransportError } from './exchange.js'
import { toTransportFailure } from './failures.js'
import type { Upstream } from './upstream.js'

/** The measurement of one exchange with a datastore. It contains nothing of path, headers or body. */
export interface Exchange {
  readonly datastore: string
  readonly mode: 'sent' | 'streamed' | 'proxied'
  readonly method: string
  /** `refused` is a 4xx that the guard reads. */
  readonly outcome: 'ok' | 'refused' | 'error' | 'timeout' | 'unavailable'
  /** The time to the complete response, or to its start if it is streamed or proxied. */
  readonly ms: number
}

/** One exchange within a trace that continues in the datastore. */
interface TracedExchange {
  /** https://www.w3.org/TR/trace-context/#traceparent-header. Nothing else of the trace is sent. */
  readonly traceparent: string
  /** `code` is that of the failure, if there was one. */
  readonly end: (status?: number, code?: string) => void
}

/** Starts an exchange with a datastore within the current trace. */
export type BeginExchange = (datastore: string, method: string) => TracedExchange

/**
 * The observers of each exchange: of its measurement when it has ended, and of its trace; each absent where there is
 * none.
 */
export interface Observers {
  readonly onExchange?: (exchange: Exchange) => void
  readonly beginExchange?: BeginExchange
}

/** One exchange that is under way. */
interface OpenExchange {
  /** The context of its trace, for its request; absent where there are no traces. */
  readonly traceparent?: string | undefined
  /** Called once, with the status of the response or the failure of the exchange. */
  readonly end: (result: { readonly status?: number, readonly failure?: unknown }) => void
}

type Begin = (mode: Exchange['mode'], method: string) => OpenExchange

/** The same datastore, with each exchange measured and traced, for those of the observers that there are. */
export function observeBackend (backend: Backend, observers: Observers): Backend {
  if (observers.onExchange === undefined && observers.beginExchange === undefined) return backend
  const begin = createExchangeStarter(backend.name, observers)
  return decorateBackend(backend, {
    send: request => {
      const { traceparent, end } = begin('sent', request.method)
      return observeResponse(backend.send(withTrace(request, traceparent)), end)
    },
    stream: request => {
      const { traceparent, end } = begin('streamed', 'GET')
      return observeResponse(backend.stream(withTrace(request, traceparent)), end)
    },
    upstream: observeUpstream(backend.upstream, begin)
  })
}

function createExchangeStarter (datastore: string, { onExchange, beginExchange }: Observers): Begin {
  return (mode, method) => {
    const began = performance.now()
    const trace = beginExchange?.(datastore, method)
    return {
      traceparent: trace?.traceparent,
      end: ({ status, failure }) => {
        trace?.end(status, status === undefined ? toFailureCode(failure) : undefined)
        const outcome = status === undefined ? toFailureOutcome(failure) : toOutcome(status)
        onExchange?.({ datastore, mode, method, outcome, ms: performance.now() - began })
      }
    }
  }
}

function withTrace<T extends { readonly headers?: unknown }> (request: T, traceparent: string | undefined): T {
  return traceparent === undefined ? request : { ...request, headers: { ...Object(request.headers), traceparent } }
}

/** Observes without delaying the response. */
function observeResponse<T extends { readonly status: number }> (
  response: Promise<T>, end: OpenExchange['end']
): Promise<T> {
  response.then(({ status }) => end({ status }), (failure: unknown) => end({ failure }))
  return response
}

function observeUpstream (upstream: Upstream, begin: Begin): Upstream {
  return {
    ...upstream,
    request: (options, upstreamResponse) => {
      const { traceparent, end } = begin('proxied', String(options.method))
      upstream.request(withTrace(options, traceparent), (error, response) => {
        end(error === null
          ? { status: response.statusCode }
          : { failure: toTransportFailure({ method: 'GET', path: '' }, toTransportError(error)) })
        upstreamResponse(error, response)
      })
    }
  }
}

const toFailureCode = (failure: unknown): string => failure instanceof Failure ? failure.code : 'INTERNAL_ERROR'

function toOutcome (status: number): Exchange['outcome'] {
  if (status === 429 || status === 503) return 'unavailable'
  if (status >= 500 && status !== 501) return 'error'
  return status >= 400 ? 'refused' : 'ok'
}

/** The outcome of an exchange that failed. What is not a Failure is an aborted wait, or a bug. */
function toFailureOutcome (failure: unknown): Exchange['outcome'] {
  if (!(failure instanceof Failure)) return 'error'
  if (failure.code === 'BACKEND_UNAVAILABLE') return 'unavailable'
  return failure.code === 'BACKEND_TIMEOUT' ? 'timeout' : 'error'
}
