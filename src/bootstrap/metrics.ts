import type { Config } from '../config/schema.js'
import { cached, resultsOf, type Checks } from '../http/health.js'
import type { Metrics, GaugeSources } from '../observability/metrics/measurements.js'
import type { Disposables } from './disposables.js'
import type { ServiceParts } from './parts.js'

/**
 * Measures the process from now on, and serves the metrics on a port of its own, or to the first of several processes;
 * undefined where no port is configured.
 */
export async function openMetrics (
  config: Config,
  { version, log, member }: Pick<ServiceParts, 'version' | 'log' | 'member'>,
  closers: Disposables
): Promise<Metrics | undefined> {
  const { port, host } = config.metrics
  if (port === undefined) return undefined
  // A process without metrics need not load the library.
  const { prometheusMetrics } = await import('../observability/metrics/prometheus.js')
  const metrics = prometheusMetrics({ version, role: config.role })
  if (member !== undefined) {
    member.serveMetrics(metrics.json)
    return metrics
  }
  const { startMetricsServer } = await import('../observability/metrics/listener.js')
  closers.add(await startMetricsServer(metrics, { host, port }))
  log.info({ host, port }, 'metrics are served at /metrics')
  return metrics
}

/** Whether each check of `/health` is ok, run no more often than `/health` runs it. */
export function gaugeSource (checks: Checks, now: () => Date): NonNullable<GaugeSources['checks']> {
  const requested = cached(checks, now)
  return async () =>
    Object.fromEntries(Object.entries(await resultsOf(requested)).map(([name, { status }]) => [name, status === 'ok']))
}
