import { Failure } from '../envelope/failures.js'
import type { Backend } from './backend.js'
import { decorateBackend } from './decorate.js'
import { toTransportError } from './exchange.js'
import { transportFailure } from './failures.js'
import type { Upstream } from './upstream.js'

/** The measurement of one exchange with a datastore. It contains nothing of path, headers or body. */
export interface Exchange {
  readonly datastore: string
  readonly way: 'sent' | 'streamed' | 'carried'
  readonly method: string
  /** `refused` is a 4xx that the guard reads. */
  readonly outcome: 'ok' | 'refused' | 'error' | 'timeout' | 'unavailable'
  /** The time to the complete response, or to its start if it is streamed or proxied. */
  readonly ms: number
}

type ReportRequest = (exchange: Exchange) => void

/** The same datastore with a callback after each exchange. */
export function measuredBackend (backend: Backend, report: ReportRequest): Backend {
  const { name: datastore } = backend
  return decorateBackend(backend, {
    send: request =>
      timed(
        { datastore, way: 'sent', method: request.method, began: performance.now(), report },
        backend.send(request)
      ),
    stream: request =>
      timed({ datastore, way: 'streamed', method: 'GET', began: performance.now(), report }, backend.stream(request)),
    upstream: measuredUpstream(backend, report)
  })
}

interface Timing extends Pick<Exchange, 'datastore' | 'way' | 'method'> {
  readonly began: number
  readonly report: ReportRequest
}

/** Measures without delaying the response. */
function timed<T extends { readonly status: number }> (
  { datastore, way, method, began, report }: Timing,
  response: Promise<T>
): Promise<T> {
  const ended = (outcome: Exchange['outcome']) =>
    report({ datastore, way, method, outcome, ms: performance.now() - began })
  response.then(
    ({ status }) => ended(outcomeOf(status)),
    error => ended(toCredentialError(error))
  )
  return response
}

function measuredUpstream ({ name: datastore, upstream }: Backend, report: ReportRequest): Upstream {
  return {
    ...upstream,
    request: (options, upstreamResponse) => {
      const began = performance.now()
      upstream.request(options, (error, response) => {
        const outcome =
          error === null
            ? outcomeOf(response.statusCode)
            : toCredentialError(transportFailure({ method: 'GET', path: '' }, toTransportError(error)))
        report({ datastore, way: 'carried', method: String(options.method), outcome, ms: performance.now() - began })
        upstreamResponse(error, response)
      })
    }
  }
}

function outcomeOf (status: number): Exchange['outcome'] {
  if (status === 429 || status === 503) return 'unavailable'
  if (status >= 500 && status !== 501) return 'error'
  return status >= 400 ? 'refused' : 'ok'
}

/** The outcome of an error. An error that is not a Failure is an aborted wait, or a bug. */
function toCredentialError (error: unknown): Exchange['outcome'] {
  if (!(error instanceof Failure)) return 'error'
  if (error.code === 'BACKEND_UNAVAILABLE') return 'unavailable'
  return error.code === 'BACKEND_TIMEOUT' ? 'timeout' : 'error'
}
