import type { Exchange } from '../../backends/observed-backend.js'
import { declarations, type LabelsOf, type NamesOf } from './declarations.js'
import type { CompletedRequest } from './measurements.js'
import { Count, MetricFamily, HistogramSeries, type Sample } from './series.js'

/** Metrics that are added to with every request. */
export const trafficMetrics = [
  'clinigate_http_requests_total',
  'clinigate_http_request_duration_seconds',
  'clinigate_gateway_duration_seconds',
  'clinigate_datastore_requests_total',
  'clinigate_datastore_request_duration_seconds',
  'clinigate_refusals_total'
] as const

/** The name of one of them. */
export type TrafficMetric = (typeof trafficMetrics)[number]

/**
 * The counters of every request, in plain numbers: the library would check and sort the labels with each addition, and
 * needs them only when a client reads.
 */
export class Traffic {
  readonly #requests = counts<'clinigate_http_requests_total'>()
  readonly #durations = timings('clinigate_http_request_duration_seconds')
  readonly #ownDurations = timings('clinigate_gateway_duration_seconds')
  readonly #exchanges = counts<'clinigate_datastore_requests_total'>()
  readonly #exchangeDurations = timings('clinigate_datastore_request_duration_seconds')
  readonly #refusals = counts<'clinigate_refusals_total'>()

  recordRequest ({
    method: sent,
    route = 'none',
    interaction = '',
    status: code,
    mode: keyMode,
    refusal,
    ms,
    waited
  }: CompletedRequest): void {
    const mode = keyMode ?? ''
    const method = methods.has(sent) ? sent : 'other'
    const status = code === undefined ? 'aborted' : classes[Math.floor(code / 100)]!
    const path = `${method} ${route} ${interaction}`
    this.#requests.of(`${path} ${status} ${mode}`, () => ({ method, route, interaction, status, mode })).total++
    if (refusal !== undefined) this.#refusals.of(refusal, () => ({ reason: refusal })).total++
    if (code === undefined) return
    this.#durations.of(path, () => ({ method, route, interaction })).add(ms)
    if (waited !== undefined) {
      this.#ownDurations.of(waited.datastore, () => ({ datastore: waited.datastore })).add(Math.max(0, ms - waited.ms))
    }
  }

  exchanged ({ datastore, way, method, outcome, ms }: Exchange): void {
    this.#exchanges.of(`${datastore} ${way} ${method} ${outcome}`, () => ({ datastore, way, method, outcome })).total++
    this.#exchangeDurations.of(`${datastore} ${way}`, () => ({ datastore, way })).add(ms)
  }

  /** The current samples of each metric. */
  samples (): Readonly<Record<TrafficMetric, readonly Sample[]>> {
    return {
      clinigate_http_requests_total: this.#requests.samples(),
      clinigate_http_request_duration_seconds: this.#durations.samples(),
      clinigate_gateway_duration_seconds: this.#ownDurations.samples(),
      clinigate_datastore_requests_total: this.#exchanges.samples(),
      clinigate_datastore_request_duration_seconds: this.#exchangeDurations.samples(),
      clinigate_refusals_total: this.#refusals.samples()
    }
  }
}

/** Methods that a route may have; others, which a client can choose among dozens, are one. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Of statuses, by their first digit. */
const classes = ['0xx', '1xx', '2xx', '3xx', '4xx', '5xx']

function counts<N extends NamesOf<'counter'>> (): MetricFamily<LabelsOf<N>, Count> {
  return new MetricFamily(labels => new Count(labels))
}

function timings<N extends NamesOf<'histogram'>> (name: N): MetricFamily<LabelsOf<N>, HistogramSeries> {
  const { buckets } = declarations[name]
  return new MetricFamily(labels => new HistogramSeries(labels, { name, bounds: buckets }))
}
