import type { Config } from '../config/schema.js'
import { cacheHealthChecks, runHealthChecks, type Checks } from '../http/health.js'
import type { Metrics, GaugeSources } from '../observability/metrics/measurements.js'
import type { Disposables, ServiceParts } from './parts.js'
import type { SharedRateLimitStore } from '../limits/shared-counts.js'
import type { OwnershipCounts } from '../tenant-guard/ownership.js'
import type { OpenAuditLog } from './audit-log.js'
import type { OpenBulk } from './bulk.js'
import type { OpenEvents } from './events.js'
import type { OpenKeys } from './keys.js'
import type { OpenUsage } from './usage.js'

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
  const { createPrometheusMetrics } = await import('../observability/metrics/prometheus.js')
  const metrics = createPrometheusMetrics({ version, role: config.role })
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
export function createCheckGauge (checks: Checks, now: () => Date): NonNullable<GaugeSources['checks']> {
  const requested = cacheHealthChecks(checks, now)
  return async () =>
    Object.fromEntries(
      Object.entries(await runHealthChecks(requested)).map(([name, { status }]) => [name, status === 'ok'])
    )
}

/** The parts of a gateway of which something can be read. */
interface ReadParts {
  readonly keys: Pick<OpenKeys, 'lookups' | 'check'>
  readonly ownership: { readonly counts: () => OwnershipCounts }
  readonly usage: Pick<OpenUsage, 'check'>
  /** Absent where the gateway counts for itself. */
  readonly shared: Pick<SharedRateLimitStore, 'isUsable'> | undefined
  readonly bulk: Pick<OpenBulk, 'running'>
  /** Absent where accesses are not audited. */
  readonly audit: Pick<OpenAuditLog, 'counts' | 'eventCounts'> | undefined
  /** Absent where changes become no events. */
  readonly events: Pick<OpenEvents, 'counts'> | undefined
  /** Those of `/health`. */
  readonly checks: Checks
  readonly now: () => Date
}

/** The gauges of a gateway's parts, readable at any time. */
export function createGaugeSources (parts: ReadParts): GaugeSources {
  const { keys, ownership, usage, shared, bulk, audit, events, checks, now } = parts
  return {
    keyLookups: keys.lookups,
    keyCopy: keys.check,
    ownership: ownership.counts,
    ledger: () => {
      const { status, ...counts } = usage.check()
      return { isOk: status === 'ok', ...counts }
    },
    ...shared && { areCountsShared: shared.isUsable },
    jobsRunning: bulk.running,
    ...audit && { auditLog: audit.counts },
    ...audit?.eventCounts && { auditEvents: audit.eventCounts },
    ...events && { changeEvents: events.counts },
    checks: createCheckGauge(checks, now)
  }
}
