import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { declarations, type Declaration, type LabelsOf, type NamesOf } from './declarations.js'
import type { AnsweredRequest, Metrics, Readings } from './measurements.js'

/** What runs. */
export interface Build { readonly version: string, readonly role: string }

/** Metrics that Prometheus can read. */
export interface PrometheusMetrics extends Metrics {
  /** All of them, in its text format. */
  readonly text: () => Promise<string>
  readonly contentType: string
}

/** Keeps measurements for Prometheus, with those of the process beside them. */
export function prometheusMetrics ({ version, role }: Build): PrometheusMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const meters = new Meters(registry)
  meters.set('clinigate_build_info', { version, node: process.version, role }, 1)
  let readings: Readings = {}
  return {
    contentType: registry.contentType,
    text: async () => {
      await read(meters, readings)
      return await registry.metrics()
    },
    watch: more => { readings = { ...readings, ...more } },
    answered: request => answered(meters, request),
    exchanged: ({ datastore, way, method, outcome, ms }) => {
      meters.add('clinigate_datastore_requests_total', { datastore, way, method, outcome })
      meters.observe('clinigate_datastore_request_duration_seconds', { datastore, way }, ms)
    },
    incident: ({ kind, datastore }) => meters.add('clinigate_isolation_incidents_total', { kind, datastore }),
    workEnded: work => meters.add('clinigate_bulk_jobs_ended_total', { ...work }),
    recordsDone: ({ kind, processed, failed }) => {
      meters.add('clinigate_bulk_records_total', { kind, result: 'processed' }, processed)
      meters.add('clinigate_bulk_records_total', { kind, result: 'failed' }, failed)
    }
  }
}

/** Methods that a route may have; others, which a client can choose among dozens, are one. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

function answered (meters: Meters, { method, route = 'none', interaction = '', status, mode, refusal, ms, waited }: AnsweredRequest): void {
  const path = { method: methods.has(method) ? method : 'other', route, interaction } as LabelsOf<'clinigate_http_request_duration_seconds'>
  meters.add('clinigate_http_requests_total', { ...path, status: status === undefined ? 'aborted' : `${Math.floor(status / 100)}xx`, mode: mode ?? '' })
  if (refusal !== undefined) meters.add('clinigate_refusals_total', { reason: refusal })
  if (status === undefined) return
  meters.observe('clinigate_http_request_duration_seconds', path, ms)
  if (waited !== undefined) meters.observe('clinigate_gateway_duration_seconds', { datastore: waited.datastore }, Math.max(0, ms - waited.ms))
}

/** Asks the parts. */
async function read (meters: Meters, { keyLookups, keyCopy, ownership, ledger, areCountsShared, jobsRunning, checks, auditLog, auditEvents }: Readings): Promise<void> {
  lookups(meters, 'clinigate_key_lookups_total', keyLookups?.())
  const copy = keyCopy?.()
  meters.set('clinigate_key_copy_connected', {}, copy && Number(copy.isConnected))
  meters.set('clinigate_key_copy_age_seconds', {}, copy?.ageSeconds ?? undefined)
  const owned = ownership?.()
  lookups(meters, 'clinigate_ownership_lookups_total', owned)
  meters.set('clinigate_ownership_records', {}, owned?.records)
  const usage = ledger?.()
  meters.set('clinigate_ledger_lines_in_memory', {}, usage?.linesInMemory)
  meters.set('clinigate_ledger_failing', {}, usage && Number(!usage.isGood))
  meters.total('clinigate_ledger_lost_requests_total', {}, usage?.lostRequests)
  meters.set('clinigate_ledger_failed_sendings', {}, usage?.failedSendings)
  meters.set('clinigate_shared_counts_in_use', {}, areCountsShared && Number(areCountsShared()))
  meters.set('clinigate_bulk_jobs_running', {}, jobsRunning?.())
  for (const [check, isGood] of Object.entries(await checks?.() ?? {})) meters.set('clinigate_check_ok', { check }, Number(isGood))
  const audit = auditLog?.()
  meters.total('clinigate_audit_log_lines_total', {}, audit?.lines)
  meters.set('clinigate_audit_log_failing', {}, audit && Number(audit.isFailing))
  meters.total('clinigate_audit_log_lost_total', {}, audit?.lost)
  const events = auditEvents?.()
  meters.total('clinigate_audit_events_total', { result: 'stored' }, events?.stored)
  meters.total('clinigate_audit_events_total', { result: 'unsent' }, events?.unsent)
  meters.set('clinigate_audit_events_waiting', {}, events?.waiting)
}

function lookups (meters: Meters, name: 'clinigate_key_lookups_total' | 'clinigate_ownership_lookups_total', found: { readonly hits: number, readonly misses: number } | undefined): void {
  meters.total(name, { result: 'hit' }, found?.hits)
  meters.total(name, { result: 'miss' }, found?.misses)
}

type Made = Counter | Gauge | Histogram

/** A meter for each declaration. */
class Meters {
  readonly #made: ReadonlyMap<string, Made>
  readonly #totals = new Map<string, number>()

  constructor (registry: Registry) {
    this.#made = new Map(Object.entries<Declaration>(declarations).map(([name, declaration]) => [name, made(name, declaration, registry)]))
  }

  /** More of what is counted. */
  add<N extends NamesOf<'counter'>> (name: N, labels: LabelsOf<N>, by = 1): void {
    (this.#made.get(name) as Counter).inc(labels, by)
  }

  /** What is counted elsewhere, as it stands; undefined shows nothing. */
  total<N extends NamesOf<'counter'>> (name: N, labels: LabelsOf<N>, total: number | undefined): void {
    if (total === undefined) return
    const series = `${name} ${Object.values(labels).join(' ')}`
    this.add(name, labels, Math.max(0, total - (this.#totals.get(series) ?? 0)))
    this.#totals.set(series, total)
  }

  /** How something is now; undefined shows nothing. */
  set<N extends NamesOf<'gauge'>> (name: N, labels: LabelsOf<N>, value: number | undefined): void {
    const gauge = this.#made.get(name) as Gauge
    if (value === undefined) gauge.remove(labels)
    else gauge.set(labels, value)
  }

  observe<N extends NamesOf<'histogram'>> (name: N, labels: LabelsOf<N>, ms: number): void {
    (this.#made.get(name) as Histogram).observe(labels, ms / 1_000)
  }
}

function made (name: string, { type, labels, meaning, buckets }: Declaration, registry: Registry): Made {
  const common = { name, help: meaning, labelNames: [...labels], registers: [registry] }
  if (type === 'counter') return new Counter(common)
  if (type === 'gauge') return new Gauge(common)
  return new Histogram({ ...common, ...buckets && { buckets: [...buckets] } })
}
