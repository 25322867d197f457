import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import { declarations, type Declaration, type LabelsOf, type NamesOf } from './declarations.js'
import type { Metrics, GaugeSources } from './measurements.js'
import { Traffic, trafficMetrics, type TrafficMetric } from './traffic.js'

/** The running program. */
interface Build { readonly version: string, readonly role: string }

/** One metric with its samples, as `prom-client` passes them between processes. */
export interface MetricJson {
  readonly name: string
  readonly type: string
}

/** Metrics that Prometheus can read. */
export interface PrometheusMetrics extends Metrics {
  /** All of them, in its text format. */
  readonly text: () => Promise<string>
  readonly contentType: string
  /** The same for another process, which adds them to its own. */
  readonly json: () => Promise<readonly MetricJson[]>
}

/** Stores measurements for Prometheus, with those of the process. */
export function createPrometheusMetrics ({ version, role }: Build): PrometheusMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const meters = new Meters(registry)
  const traffic = new Traffic()
  meters.set('clinigate_build_info', { version, node: process.version, role }, 1)
  let readings: GaugeSources = {}
  return {
    contentType: registry.contentType,
    text: async () => {
      await read(meters, readings)
      return await registry.metrics() + await AggregatorRegistry.aggregate([toJson(traffic)]).metrics()
    },
    json: async () => {
      await read(meters, readings)
      return [...await registry.getMetricsAsJSON() as unknown as MetricJson[], ...toJson(traffic)]
    },
    watch: more => { readings = { ...readings, ...more } },
    recordRequest: request => traffic.recordRequest(request),
    exchanged: exchange => traffic.recordExchange(exchange),
    incident: ({ kind, datastore }) => meters.add('clinigate_isolation_incidents_total', { kind, datastore }),
    storedDifferently: ({ type }) => meters.add('clinigate_stored_differences_total', { type }),
    webhookAttempted: outcome => meters.add('clinigate_webhook_deliveries_total', { outcome }),
    workEnded: work => meters.add('clinigate_bulk_jobs_ended_total', { ...work }),
    recordsDone: ({ kind, processed, failed }) => {
      meters.add('clinigate_bulk_records_total', { kind, result: 'processed' }, processed)
      meters.add('clinigate_bulk_records_total', { kind, result: 'failed' }, failed)
    }
  }
}

/** The library makes the text of what other processes counted; to it, this is what one of them did. */
function toJson (traffic: Traffic): MetricJson[] {
  const samples = traffic.collectSamples()
  return trafficMetrics.map(name => ({
    name,
    help: declarations[name].meaning,
    type: declarations[name].type,
    aggregator: 'sum',
    values: samples[name]
  }))
}

/** Reads the gauges of the parts. */
async function read (meters: Meters, sources: GaugeSources): Promise<void> {
  const { keyLookups, keyCopy, ownership, ledger, areCountsShared, jobsRunning } = sources
  const { auditLog, auditEvents, changeEvents } = sources
  setLookups(meters, 'clinigate_key_lookups_total', keyLookups?.())
  const copy = keyCopy?.()
  meters.set('clinigate_key_copy_connected', {}, copy && Number(copy.isConnected))
  meters.set('clinigate_key_copy_age_seconds', {}, copy?.ageSeconds ?? undefined)
  const owned = ownership?.()
  setLookups(meters, 'clinigate_ownership_lookups_total', owned)
  meters.set('clinigate_ownership_records', {}, owned?.records)
  const usage = ledger?.()
  meters.set('clinigate_ledger_lines_in_memory', {}, usage?.linesInMemory)
  meters.set('clinigate_ledger_failing', {}, usage && Number(!usage.isOk))
  meters.setTotal('clinigate_ledger_lost_requests_total', {}, usage?.lostRequests)
  meters.set('clinigate_ledger_failed_sendings', {}, usage?.failedSendings)
  meters.set('clinigate_shared_counts_in_use', {}, areCountsShared && Number(areCountsShared()))
  meters.set('clinigate_bulk_jobs_running', {}, jobsRunning?.())
  await readSlowly(meters, sources)
  const audit = auditLog?.()
  meters.setTotal('clinigate_audit_log_lines_total', {}, audit?.lines)
  meters.set('clinigate_audit_log_failing', {}, audit && Number(audit.isFailing))
  meters.setTotal('clinigate_audit_log_lost_total', {}, audit?.lost)
  readChangeEvents(meters, changeEvents?.())
  const events = auditEvents?.()
  meters.setTotal('clinigate_audit_events_total', { result: 'stored' }, events?.stored)
  meters.setTotal('clinigate_audit_events_total', { result: 'unsent' }, events?.unsent)
  meters.set('clinigate_audit_events_waiting', {}, events?.waiting)
}

/** The gauges that query a database. */
async function readSlowly (meters: Meters, { checks, oldestEventSeconds }: GaugeSources): Promise<void> {
  meters.set('clinigate_webhook_oldest_event_seconds', {}, await oldestEventSeconds?.().catch(() => undefined))
  for (const [check, isOk] of Object.entries((await checks?.()) ?? {})) {
    meters.set('clinigate_check_ok', { check }, Number(isOk))
  }
}

function readChangeEvents (
  meters: Meters,
  counts: ReturnType<NonNullable<GaugeSources['changeEvents']>> | undefined
): void {
  meters.setTotal('clinigate_events_appended_total', {}, counts?.appended)
  meters.setTotal('clinigate_events_sent_total', {}, counts?.sent)
  meters.set('clinigate_events_oldest_unsent_seconds', {}, counts?.oldestUnsentSeconds)
  meters.set('clinigate_events_unresolved', {}, counts?.unresolved)
  meters.set('clinigate_events_log_bytes', {}, counts?.bytes)
}

function setLookups (
  meters: Meters,
  name: 'clinigate_key_lookups_total' | 'clinigate_ownership_lookups_total',
  found: { readonly hits: number; readonly misses: number } | undefined
): void {
  meters.setTotal(name, { result: 'hit' }, found?.hits)
  meters.setTotal(name, { result: 'miss' }, found?.misses)
}

type Meter = Counter | Gauge

/** A meter for each declaration but those of the traffic. */
class Meters {
  readonly #meters: ReadonlyMap<string, Meter>
  readonly #totals = new Map<string, number>()

  constructor (registry: Registry) {
    const labelNames: readonly string[] = trafficMetrics
    this.#meters = new Map(
      Object.entries<Declaration>(declarations)
        .filter(([name]) => !labelNames.includes(name))
        .map(([name, declaration]) => [name, createMeter(name, declaration, registry)])
    )
  }

  /** Increases a counter. */
  add<N extends Exclude<NamesOf<'counter'>, TrafficMetric>>(name: N, labels: LabelsOf<N>, by = 1): void {
    ;(this.#meters.get(name) as Counter).inc(labels, by)
  }

  /** Sets a counter to a total that is counted elsewhere; undefined shows nothing. */
  setTotal<N extends Exclude<NamesOf<'counter'>, TrafficMetric>>(
    name: N,
    labels: LabelsOf<N>,
    total: number | undefined
  ): void {
    if (total === undefined) return
    const series = `${name} ${Object.values(labels).join(' ')}`
    this.add(name, labels, Math.max(0, total - (this.#totals.get(series) ?? 0)))
    this.#totals.set(series, total)
  }

  /** How something is now; undefined shows nothing. */
  set<N extends NamesOf<'gauge'>>(name: N, labels: LabelsOf<N>, value: number | undefined): void {
    const gauge = this.#meters.get(name) as Gauge
    if (value === undefined) gauge.remove(labels)
    else gauge.set(labels, value)
  }
}

function createMeter (name: string, { type, labels, meaning, together }: Declaration, registry: Registry): Meter {
  const common = { name, help: meaning, labelNames: [...labels], registers: [registry] }
  return type === 'counter' ? new Counter(common) : new Gauge({ ...common, aggregator: together ?? 'sum' })
}
