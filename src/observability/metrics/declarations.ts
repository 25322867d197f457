/**
 * Every metric of the gateway's own, once: the measurements and the documentation use this list. Each label has a
 * bounded number of values, of the program or of the configuration; none is from a client's URL, and none names an
 * organization, a key or a record.
 */

/** One metric, as Prometheus has them. */
export interface Declaration {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly meaning: string
  /** How a gauge of several processes becomes one; by default their sum. */
  readonly together?: 'first' | 'max' | 'min'
  /** Upper bounds of a histogram, in seconds. */
  readonly buckets?: readonly number[]
}

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

/** By name. */
export const declarations = {
  clinigate_build_info: {
    type: 'gauge',
    together: 'first',
    labels: ['version', 'node', 'role'],
    meaning: 'Always 1; the labels give the version and role'
  },
  clinigate_http_requests_total: {
    type: 'counter',
    labels: ['method', 'route', 'interaction', 'status', 'mode'],
    meaning:
      'Requests answered, by route pattern (`none` for an unknown route), raw FHIR interaction, status class (`aborted` if the client disconnected first) and key mode'
  },
  clinigate_http_request_duration_seconds: {
    type: 'histogram',
    labels: ['method', 'route', 'interaction'],
    buckets,
    meaning: 'Time from the arrival of a request to the end of its response'
  },
  clinigate_gateway_duration_seconds: {
    type: 'histogram',
    labels: ['datastore'],
    buckets,
    meaning: "The gateway's share of that time, without waiting for the datastore"
  },
  clinigate_datastore_requests_total: {
    type: 'counter',
    labels: ['datastore', 'mode', 'method', 'outcome'],
    meaning:
      'Exchanges with a datastore, by mode (sent, streamed, or proxied for terminology operations) and outcome: `ok`, `refused` (a 4xx), `error`, `timeout` or `unavailable`'
  },
  clinigate_datastore_request_duration_seconds: {
    type: 'histogram',
    labels: ['datastore', 'mode'],
    buckets,
    meaning:
      'Duration of an exchange with a datastore, including the wait for a connection and a retry; for streamed and proxied exchanges, until the response starts'
  },
  clinigate_refusals_total: {
    type: 'counter',
    labels: ['reason'],
    meaning:
      'Requests refused: `key` (no valid key), `scope`, `attempts` (too many without a valid key), `minute` (rate limit), `in_flight` (too many concurrent requests), `month` (quota)'
  },
  clinigate_isolation_incidents_total: {
    type: 'counter',
    labels: ['kind', 'datastore'],
    meaning:
      'Responses of a datastore that contained data of another tenant or of none; they were refused, and an operator must investigate'
  },
  clinigate_stored_differences_total: {
    type: 'counter',
    labels: ['type'],
    meaning:
      'Records that a datastore stored differently than it received them, by resource type; the log has the paths, and the client a warning'
  },
  clinigate_key_lookups_total: {
    type: 'counter',
    labels: ['result'],
    meaning: 'Keys found in the cache (`hit`) or looked up in the local copy (`miss`)'
  },
  clinigate_key_copy_age_seconds: {
    type: 'gauge',
    together: 'max',
    labels: [],
    meaning: 'Age of the local key copy; absent while it is being built'
  },
  clinigate_key_copy_connected: {
    type: 'gauge',
    together: 'min',
    labels: [],
    meaning: '1 while the local key copy is connected to the control plane'
  },
  clinigate_ownership_lookups_total: {
    type: 'counter',
    labels: ['result'],
    meaning: 'Records whose owner was known (`hit`) or had to be looked up (`miss`)'
  },
  clinigate_ownership_records: { type: 'gauge', labels: [], meaning: 'Records whose owner is cached' },
  clinigate_ledger_lines_in_memory: {
    type: 'gauge',
    labels: [],
    meaning: 'Usage ledger lines that are only in memory'
  },
  clinigate_ledger_failing: {
    type: 'gauge',
    together: 'max',
    labels: [],
    meaning: '1 while the usage ledger cannot be written, has lost requests or found a damaged file'
  },
  clinigate_ledger_lost_requests_total: {
    type: 'counter',
    labels: [],
    meaning: 'Requests that were not counted because the disk failed for too long'
  },
  clinigate_ledger_failed_sendings: {
    type: 'gauge',
    together: 'max',
    labels: [],
    meaning: 'Failed attempts to send the ledger to the control plane since the last success'
  },
  clinigate_shared_counts_in_use: {
    type: 'gauge',
    together: 'min',
    labels: [],
    meaning:
      '1 while gateways share their rate limit counts, 0 while each counts alone; absent if sharing is not configured'
  },
  clinigate_bulk_jobs_running: { type: 'gauge', labels: [], meaning: 'Bulk jobs that this gateway is running' },
  clinigate_bulk_jobs_ended_total: {
    type: 'counter',
    labels: ['kind', 'outcome'],
    meaning:
      'Ended work on bulk jobs: `completed`, `failed`, `error` (will be retried) or `interrupted` (cancelled, or continued elsewhere)'
  },
  clinigate_bulk_records_total: {
    type: 'counter',
    labels: ['kind', 'result'],
    meaning: 'Records of bulk jobs: `processed`, of which some `failed`'
  },
  clinigate_webhook_deliveries_total: {
    type: 'counter',
    labels: ['outcome'],
    meaning: 'Attempts to deliver an event to a webhook: `delivered` or `failed` (will be retried, up to eight attempts)'
  },
  clinigate_webhook_oldest_event_seconds: {
    type: 'gauge',
    together: 'max',
    labels: [],
    meaning: 'Age of the oldest event that waits for an enabled webhook, 0 if none does; absent without a control plane in this process'
  },
  clinigate_events_appended_total: { type: 'counter', labels: [], meaning: 'Events written to the event log' },
  clinigate_events_sent_total: { type: 'counter', labels: [], meaning: 'Events that the control plane took' },
  clinigate_events_oldest_unsent_seconds: {
    type: 'gauge',
    together: 'max',
    labels: [],
    meaning: 'Age of the oldest event that the control plane has not taken yet; absent if events are off'
  },
  clinigate_events_unresolved: {
    type: 'gauge',
    labels: [],
    meaning: 'Writes without a response, about which the datastore has yet to be asked'
  },
  clinigate_events_log_bytes: { type: 'gauge', labels: [], meaning: 'Size of the event log' },
  clinigate_check_ok: {
    type: 'gauge',
    together: 'min',
    labels: ['check'],
    meaning: '1 while that check of `/health` is ok'
  },
  clinigate_audit_log_lines_total: { type: 'counter', labels: [], meaning: 'Access audit log lines that are on disk' },
  clinigate_audit_log_failing: {
    type: 'gauge',
    together: 'max',
    labels: [],
    meaning: '1 while the access audit log cannot be written'
  },
  clinigate_audit_log_lost_total: {
    type: 'counter',
    labels: [],
    meaning: 'Access audit log lines that were lost; none while `auditLog.isRequired`'
  },
  clinigate_audit_events_total: {
    type: 'counter',
    labels: ['result'],
    meaning:
      'Accesses whose AuditEvent was `stored` in a datastore, or given up as `unsent` and noted in the access audit log'
  },
  clinigate_audit_events_waiting: {
    type: 'gauge',
    labels: [],
    meaning: 'AuditEvents waiting in memory for their datastores; absent if AuditEvents are off'
  }
} as const satisfies Record<string, Declaration>

/** The name of a metric. */
type MetricName = keyof typeof declarations

/** The names of those of one type. */
export type NamesOf<T extends Declaration['type']> = {
  [N in MetricName]: (typeof declarations)[N]['type'] extends T ? N : never
}[MetricName]

/** The label values of a metric. */
export type LabelsOf<N extends MetricName> = Readonly<Record<(typeof declarations)[N]['labels'][number], string>>

/** The table of all of them, for the documentation. */
export function formatMetricsTable (): string {
  const rows = Object.entries<Declaration>(declarations).map(
    ([name, { type, labels, meaning }]) =>
      `| \`${name}\` | ${type} | ${labels.map(label => `\`${label}\``).join(', ')} | ${meaning} |`
  )
  return ['| metric | type | labels | meaning |', '|---|---|---|---|', ...rows].join('\n')
}
