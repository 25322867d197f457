/**
 * Every metric of the gateway's own, once: what is measured and the documentation come from here. Each label has a bounded number of values,
 * of the program or of the configuration; none is out of a client's URL, and none names an organization, a key or a record.
 */

/** One metric, as Prometheus has them. */
export interface Declaration {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly meaning: string
  /** Upper bounds of a histogram, in seconds. */
  readonly buckets?: readonly number[]
}

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

/** By name. */
export const declarations = {
  clinigate_build_info: { type: 'gauge', labels: ['version', 'node', 'role'], meaning: 'Always 1; the labels say what runs' },
  clinigate_http_requests_total: { type: 'counter', labels: ['method', 'route', 'interaction', 'status', 'mode'], meaning: 'Requests answered: pattern of the route (`none` where there is no such route), interaction of raw FHIR, class of the status (`aborted` where the client left before), mode of the key' },
  clinigate_http_request_duration_seconds: { type: 'histogram', labels: ['method', 'route', 'interaction'], buckets, meaning: 'From a request\'s arrival to the end of its answer' },
  clinigate_gateway_duration_seconds: { type: 'histogram', labels: ['datastore'], buckets, meaning: 'The gateway\'s own part of that: without the time in which a request waited for its datastore' },
  clinigate_datastore_requests_total: { type: 'counter', labels: ['datastore', 'way', 'method', 'outcome'], meaning: 'Exchanges with a datastore: sent, streamed, or carried for a question about codes; `ok`, `refused` by a 4xx, or `error`, `timeout`, `unavailable`' },
  clinigate_datastore_request_duration_seconds: { type: 'histogram', labels: ['datastore', 'way'], buckets, meaning: 'How long an exchange with a datastore took, waiting for a connection and a second try included; of a stream or what is carried, until the answer began' },
  clinigate_refusals_total: { type: 'counter', labels: ['reason'], meaning: 'Requests refused: `key` (no good one), `scope`, `attempts` (too many without a good key), `minute`, `in_flight` (too many at a time), `month`' },
  clinigate_isolation_incidents_total: { type: 'counter', labels: ['kind', 'datastore'], meaning: 'A datastore answered with what is not the tenant\'s; the answer was refused, and somebody must look' },
  clinigate_key_lookups_total: { type: 'counter', labels: ['result'], meaning: 'Keys that were found in the cache (`hit`), or looked up in the copy (`miss`)' },
  clinigate_key_copy_age_seconds: { type: 'gauge', labels: [], meaning: 'How old the copy of the keys is; absent while it is being built' },
  clinigate_key_copy_connected: { type: 'gauge', labels: [], meaning: '1 while the copy follows the control plane' },
  clinigate_ownership_lookups_total: { type: 'counter', labels: ['result'], meaning: 'Records that were known to be whose (`hit`), or had to be asked for (`miss`)' },
  clinigate_ownership_records: { type: 'gauge', labels: [], meaning: 'Records whose owner is remembered' },
  clinigate_ledger_lines_in_memory: { type: 'gauge', labels: [], meaning: 'Lines of the usage ledger that only the memory holds' },
  clinigate_ledger_failing: { type: 'gauge', labels: [], meaning: '1 while the usage ledger can\'t be written, has lost requests or found a broken file' },
  clinigate_ledger_lost_requests_total: { type: 'counter', labels: [], meaning: 'Requests that are counted nowhere, because the disk failed for too long' },
  clinigate_ledger_failed_sendings: { type: 'gauge', labels: [], meaning: 'How often sending the ledger to the control plane failed since it last succeeded' },
  clinigate_shared_counts_in_use: { type: 'gauge', labels: [], meaning: '1 while several gateways count together, 0 while each counts for itself; absent where that is not configured' },
  clinigate_bulk_jobs_running: { type: 'gauge', labels: [], meaning: 'Bulk jobs that this gateway works on' },
  clinigate_bulk_jobs_ended_total: { type: 'counter', labels: ['kind', 'outcome'], meaning: 'Work on bulk jobs that ended: `completed`, `failed` for good, `trouble` (tried again later), `left` (cancelled, or gone on elsewhere)' },
  clinigate_bulk_records_total: { type: 'counter', labels: ['kind', 'result'], meaning: 'Records of bulk jobs: `processed`, of which some `failed`' },
  clinigate_check_ok: { type: 'gauge', labels: ['check'], meaning: '1 where that check of `/health` is well' },
  clinigate_audit_log_lines_total: { type: 'counter', labels: [], meaning: 'Lines of the access audit log that are on the disk' },
  clinigate_audit_log_failing: { type: 'gauge', labels: [], meaning: '1 while the access audit log can\'t be written' },
  clinigate_audit_log_lost_total: { type: 'counter', labels: [], meaning: 'Lines of the access audit log that were given up; none while `auditLog.isRequired`' },
  clinigate_audit_events_total: { type: 'counter', labels: ['result'], meaning: 'Accesses whose AuditEvent was `stored` in a datastore, or given up as `unsent`, which a line of the access audit log tells' },
  clinigate_audit_events_waiting: { type: 'gauge', labels: [], meaning: 'AuditEvents that wait in memory for their datastores; absent where accesses become none' }
} as const satisfies Record<string, Declaration>

/** The name of a metric. */
type MetricName = keyof typeof declarations

/** The names of those of one type. */
export type NamesOf<T extends Declaration['type']> = { [N in MetricName]: (typeof declarations)[N]['type'] extends T ? N : never }[MetricName]

/** What the labels of a metric say. */
export type LabelsOf<N extends MetricName> = Readonly<Record<(typeof declarations)[N]['labels'][number], string>>

/** The table of all of them, for the documentation. */
export function metricsTable (): string {
  const rows = Object.entries<Declaration>(declarations).map(([name, { type, labels, meaning }]) => `| \`${name}\` | ${type} | ${labels.map(label => `\`${label}\``).join(', ')} | ${meaning} |`)
  return ['| metric | type | labels | meaning |', '|---|---|---|---|', ...rows].join('\n')
}
