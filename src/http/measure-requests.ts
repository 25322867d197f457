import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type {} from '../keys/authenticate.js'
import type {} from '../limits/in-flight.js'
import type {} from '../limits/monthly-quota.js'
import type { CompletedRequest, Refusal } from '../observability/metrics/measurements.js'
import type {} from '../api/passthrough/allowed.js'
import { onResponseEnd } from '../net/on-response-end.js'

/** Where requests are measured; absent if they are not. */
export interface MeasureRequestsOptions { readonly onCompleted?: (request: CompletedRequest) => void }

/**
 * Measures each request once, when its response is sent or its client has left. Labels come from our routes and R4,
 * never from the URL, headers or body.
 */
export const measureRequests = fp<MeasureRequestsOptions>(async (app, { onCompleted }) => {
  if (onCompleted === undefined) return
  app.decorateRequest('waiting')
  app.addHook('onRequest', (request, reply, done) => {
    request.waiting = new BackendTimer()
    onResponseEnd(request, reply, isCompleted => onCompleted(toCompletedRequest(request, reply, isCompleted)))
    done()
  })
}, { name: 'measure-requests', fastify: '5.x' })

/**
 * How long one request waited for its datastore. Exchanges at the same time are waited for together, and count once.
 */
export class BackendTimer {
  #datastore: string | undefined
  #inFlight = 0
  #since = 0
  #ms = 0

  /** Absent until the first request to the datastore. */
  get datastore (): string | undefined {
    return this.#datastore
  }

  /** In milliseconds, including exchanges that are in progress. */
  get ms (): number {
    return this.#inFlight > 0 ? this.#ms + performance.now() - this.#since : this.#ms
  }

  /** The result of `send`; the time from before the request is sent until the response arrives counts. */
  measure<T>(datastore: string, send: () => Promise<T>): Promise<T> {
    this.#datastore = datastore
    if (this.#inFlight++ === 0) this.#since = performance.now()
    const response = send()
    response.then(this.#end, this.#end)
    return response
  }

  readonly #end = (): void => {
    if (--this.#inFlight === 0) this.#ms += performance.now() - this.#since
  }
}

function toCompletedRequest (request: FastifyRequest, reply: FastifyReply, isCompleted: boolean): CompletedRequest {
  const { method, routeOptions: { url: route }, understood, caller, waiting } = request
  const common = { method, route, interaction: understood?.kind, mode: caller?.mode, ms: reply.elapsedTime }
  if (!isCompleted) return common
  const { statusCode: status } = reply
  const waited = waiting?.datastore === undefined ? undefined : { datastore: waiting.datastore, ms: waiting.ms }
  return { ...common, status, refusal: findRefusal(request, status), waited }
}

/** Why the pipeline refused a request; undefined for any other, and for what the control plane refuses. */
function findRefusal ({ caller, permit, quota, rate, raw }: FastifyRequest, status: number): Refusal | undefined {
  if ((status !== 401 && status !== 403 && status !== 429) || raw.url?.startsWith('/v1') !== true) return undefined
  if (status === 401) return 'key'
  if (status === 403) return 'scope'
  if (caller === undefined) return 'attempts'
  if (quota?.isOverage === true) return 'month'
  return permit?.isAdmitted === false && rate?.remaining !== 0 ? 'in_flight' : 'minute'
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set if requests are measured. */
    waiting: BackendTimer | undefined
  }
}
