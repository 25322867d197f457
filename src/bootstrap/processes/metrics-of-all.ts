import { AggregatorRegistry } from 'prom-client'
import type { MetricJson, PrometheusMetrics } from '../../observability/metrics/prometheus.js'
import { withTimeout } from '../../time/with-timeout.js'

/** How long a process may take to give its metrics. */
const timeoutMs = 2_000

/** A process whose metrics can be read. */
interface MeasuredProcess { readonly metrics: () => Promise<readonly MetricJson[]> }

/**
 * The metrics of several processes as those of one. What a process counted stays counted when it ends, so that no
 * total falls: as it was last read.
 */
export class MetricsOfAll implements Pick<PrometheusMetrics, 'text' | 'contentType'> {
  readonly #metrics = new Map<MeasuredProcess, readonly MetricJson[]>()
  #ended: readonly MetricJson[] = []

  readonly contentType = AggregatorRegistry.PROMETHEUS_CONTENT_TYPE

  add (process: MeasuredProcess): void {
    this.#metrics.set(process, [])
  }

  /** To be called when a process has ended. */
  async remove (process: MeasuredProcess): Promise<void> {
    const totals = (this.#metrics.get(process) ?? []).filter(({ type }) => type === 'counter' || type === 'histogram')
    this.#metrics.delete(process)
    this.#ended = await aggregate([this.#ended, totals]).getMetricsAsJSON() as unknown as readonly MetricJson[]
  }

  /** In the text format of Prometheus. A process that does not respond counts as it was last read. */
  async text (): Promise<string> {
    await Promise.all([...this.#metrics.keys()].map(async process => {
      const read = await withTimeout(process.metrics(), timeoutMs, undefined).catch(() => undefined)
      if (read !== undefined && this.#metrics.has(process)) this.#metrics.set(process, read)
    }))
    return await aggregate([this.#ended, ...this.#metrics.values()]).metrics()
  }
}

const aggregate = (all: ReadonlyArray<readonly MetricJson[]>) =>
  AggregatorRegistry.aggregate(all as unknown as object[])
