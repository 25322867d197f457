/** One value of a metric: https://prometheus.io/docs/concepts/data_model/ */
export interface Sample {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/** The label values of a series. */
type Labels = Readonly<Record<string, string>>

/** One series of a counter. */
export class Count {
  total = 0
  readonly #labels: Labels

  constructor (labels: Labels) {
    this.#labels = labels
  }

  samples (): readonly Sample[] {
    return [{ labels: this.#labels, value: this.total }]
  }
}

/** The name of a histogram, and the upper bounds of its buckets in seconds. */
interface Histogram { readonly name: string, readonly bounds: readonly number[] }

/** One series of a histogram of times. */
export class HistogramSeries {
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

  samples (): readonly Sample[] {
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
export class MetricFamily<L extends Labels, S extends Pick<Count, 'samples'>> {
  readonly #begin: (labels: L) => S
  readonly #series = new Map<string, S>()

  constructor (begin: (labels: L) => S) {
    this.#begin = begin
  }

  /** The series with this key, which begins with the first question for it. */
  of (key: string, labels: () => L): S {
    const known = this.#series.get(key)
    if (known !== undefined) return known
    const series = this.#begin(labels())
    this.#series.set(key, series)
    return series
  }

  samples (): readonly Sample[] {
    return [...this.#series.values()].flatMap(series => series.samples())
  }
}
