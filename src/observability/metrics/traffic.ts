import type { Exchange } from '../../backends/observed-backend.js'
import { declarations, type LabelsOf, type NamesOf } from './declarations.js'
import type { CompletedRequest } from './measurements.js'

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
  readonly #requests = createCounters<'clinigate_http_requests_total'>()
  readonly #durations = createHistograms('clinigate_http_request_duration_seconds')
  readonly #ownDurations = createHistograms('clinigate_gateway_duration_seconds')
  readonly #exchanges = createCounters<'clinigate_datastore_requests_total'>()
  readonly #exchangeDurations = createHistograms('clinigate_datastore_request_duration_seconds')
  readonly #refusals = createCounters<'clinigate_refusals_total'>()

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
    this.#requests.getOrCreate(`${path} ${status} ${mode}`, () => ({ method, route, interaction, status, mode }))
      .total++
    if (refusal !== undefined) this.#refusals.getOrCreate(refusal, () => ({ reason: refusal })).total++
    if (code === undefined) return
    this.#durations.getOrCreate(path, () => ({ method, route, interaction })).add(ms)
    if (waited !== undefined) {
      this.#ownDurations
        .getOrCreate(waited.datastore, () => ({ datastore: waited.datastore }))
        .add(Math.max(0, ms - waited.ms))
    }
  }

  recordExchange ({ datastore, mode, method, outcome, ms }: Exchange): void {
    this.#exchanges.getOrCreate(`${datastore} ${mode} ${method} ${outcome}`, () => ({
      datastore,
      mode,
      method,
      outcome
    })).total++
    this.#exchangeDurations.getOrCreate(`${datastore} ${mode}`, () => ({ datastore, mode })).add(ms)
  }

  /** The current samples of each metric. */
  collectSamples (): Readonly<Record<TrafficMetric, readonly Sample[]>> {
    return {
      clinigate_http_requests_total: this.#requests.collectSamples(),
      clinigate_http_request_duration_seconds: this.#durations.collectSamples(),
      clinigate_gateway_duration_seconds: this.#ownDurations.collectSamples(),
      clinigate_datastore_requests_total: this.#exchanges.collectSamples(),
      clinigate_datastore_request_duration_seconds: this.#exchangeDurations.collectSamples(),
      clinigate_refusals_total: this.#refusals.collectSamples()
    }
  }
}

/** Methods that a route may have; others, which a client can choose among dozens, are one. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Of statuses, by their first digit. */
const classes = ['0xx', '1xx', '2xx', '3xx', '4xx', '5xx']

function createCounters<N extends NamesOf<'counter'>> (): MetricFamily<LabelsOf<N>, Count> {
  return new MetricFamily(labels => new Count(labels))
}

function createHistograms<N extends NamesOf<'histogram'>> (name: N): MetricFamily<LabelsOf<N>, HistogramSeries> {
  const { buckets } = declarations[name]
  return new MetricFamily(labels => new HistogramSeries(labels, { name, bounds: buckets }))
}

/** One value of a metric: https://prometheus.io/docs/concepts/data_model/ */
interface Sample {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/** The label values of a series. */
type Labels = Readonly<Record<string, string>>

/** One series of a counter. */
class Count {
  total = 0
  readonly #labels: Labels

  constructor (labels: Labels) {
    this.#labels = labels
  }

  collectSamples (): readonly Sample[] {
    return [{ labels: this.#labels, value: this.total }]
  }
}

/** The name of a histogram, and the upper bounds of its buckets in seconds. */
interface Histogram { readonly name: string, readonly bounds: readonly number[] }

/** One series of a histogram of times. */
class HistogramSeries {
  readonly #labels: Labels
  readonly #histogram: Histogram
  /** How many were within each bound and above the one before; the last were above all. */
  readonly #counts: number[]
  #seconds = 0

  constructor (labels: Labels, histogram: Histogram) {
    this.#labels = labels
    this.#histogram = histogram
    this.#counts = [...histogram.bounds, Infinity].map(() => 0)
  }

  add (ms: number): void {
    const { bounds } = this.#histogram
    const seconds = ms / 1_000
    let bucket = 0
    while (bucket < bounds.length && seconds > bounds[bucket]!) bucket++
    this.#counts[bucket]!++
    this.#seconds += seconds
  }

  collectSamples (): readonly Sample[] {
    const { name, bounds } = this.#histogram
    const labels = this.#labels
    let count = 0
    const buckets = this.#counts.map((more, bucket) => {
      count += more
      return { metricName: `${name}_bucket`, labels: { le: bounds[bucket] ?? '+Inf', ...labels }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.#seconds },
      { metricName: `${name}_count`, labels, value: count }
    ]
  }
}

/** The series of one metric, each by a key of its label values. */
class MetricFamily<L extends Labels, S extends Pick<Count, 'collectSamples'>> {
  readonly #begin: (labels: L) => S
  readonly #series = new Map<string, S>()

  constructor (begin: (labels: L) => S) {
    this.#begin = begin
  }

  /** The series with this key, which begins with the first question for it. */
  getOrCreate (key: string, labels: () => L): S {
    const known = this.#series.get(key)
    if (known !== undefined) return known
    const series = this.#begin(labels())
    this.#series.set(key, series)
    return series
  }

  collectSamples (): readonly Sample[] {
    return [...this.#series.values()].flatMap(series => series.collectSamples())
  }
}
