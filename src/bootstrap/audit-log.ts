import { dirname } from 'node:path'
import { toAuditEvent } from '../observability/audit-log/audit-event.js'
import { AuditEvents } from '../observability/audit-log/audit-events.js'
import { AuditLog } from '../observability/audit-log/audit-log.js'
import type { AuditEntry } from '../observability/audit-log/entry.js'
import { toFailure } from '../envelope/error-handlers.js'
import type { JobHandler, JobContext } from '../jobs/job-context.js'
import type { Config } from '../config/schema.js'
import type { Check } from '../http/health.js'
import type { AccessAuditSink } from '../http/audit-accesses.js'
import { toJobOwner, type JobKind, type JobOwner } from '../jobs/model/job.js'
import { ensureDirectory } from '../files/ensure.js'
import type { GaugeSources } from '../observability/metrics/measurements.js'
import { storeAccessEvents } from '../tenant-guard/access-events.js'
import type { Disposables, ServiceParts } from './parts.js'
import type { OpenTenantContext } from './guarded-stores.js'
import { getOwnUrl } from './own-config.js'

/** The access audit log of this process. */
export interface OpenAuditLog {
  readonly accounts: AccessAuditSink
  readonly counts: NonNullable<GaugeSources['auditLog']>
  /** Absent where accesses become no AuditEvents. */
  readonly eventCounts?: NonNullable<GaugeSources['auditEvents']>
  /** Degraded while a datastore rejects AuditEvents; absent where accesses become none. */
  readonly check?: () => Check
}

/** The dependencies of the log and of its AuditEvents. */
interface AuditLogParts extends Pick<ServiceParts, 'log' | 'now'> { readonly openTenantContext: OpenTenantContext }

/** Opens the log that the configuration names; undefined where it names none. */
export async function openAuditLog (
  config: Config,
  parts: AuditLogParts,
  closers: Disposables
): Promise<OpenAuditLog | undefined> {
  const { file, fileBytes, isRequired, logsSearchResultIds, auditEvents } = config.auditLog
  const { log } = parts
  if (file === undefined) return undefined
  ensureDirectory(dirname(file))
  const opened = closers.add(await AuditLog.open({ file, fileBytes, log }))
  const events = auditEvents ? openAuditEvents(opened, parts) : undefined
  // Closed before the log, since closing reports to it how many were not sent.
  if (events !== undefined) closers.add(events)
  const add: AccessAuditSink['add'] = (entry, owner) =>
    opened.add(
      entry,
      events &&
        (({ hash }) =>
          events.add(
            toJobOwner(owner),
            toAuditEvent({ entry, owner, hash }, { tenantSystem: config.tenantSystem, url: getOwnUrl(config) })
          ))
    )
  return {
    accounts: { add, isFailing: () => opened.isFailing, isRequired, logsSearchResultIds },
    counts: () => opened.counts,
    ...(events && {
      eventCounts: () => events.counts,
      check: () =>
        events.refusing.length === 0
          ? { status: 'ok' }
          : { status: 'degraded', reason: 'a datastore rejects AuditEvents', datastores: events.refusing }
    })
  }
}

/** AuditEvents of the lines of a log, which also records the ones that could not be stored. */
function openAuditEvents (auditLog: AuditLog, { openTenantContext, log, now }: AuditLogParts): AuditEvents {
  // Accesses through this context are not audited, since each would cause another AuditEvent.
  const openOwnerContext = (owner: JobOwner) => openTenantContext(owner, { id: 'audit-events', log })
  return new AuditEvents({
    store: async (owner, events) => await storeAccessEvents(openOwnerContext(owner), events),
    datastoreOf: owner => findDatastoreName(() => openOwnerContext(owner).backend),
    reportUnsent: unsent => auditLog.add(unsent),
    now,
    log
  })
}

function findDatastoreName (datastore: () => { readonly name: string }): string | undefined {
  try {
    return datastore().name
  } catch {
    // Routing throws where an organization's own datastore is not set up.
    return undefined
  }
}

/**
 * The same job handler, which records the outcome of each run as a line. Where lines are required, a job is not done
 * before its line is written.
 */
export function withJobAudit (
  doJob: JobHandler,
  kind: JobKind,
  { accounts: { add, isRequired }, now }: { readonly accounts: AccessAuditSink, readonly now: () => Date }
): JobHandler {
  return async work => {
    let records = work.job.progress.processed
    const recordOutcome = async (error?: unknown): Promise<void> => {
      const written = add(toJobAuditEntry(kind, work, { time: now().toISOString(), records, error }), work.job.owner)
      if (isRequired) await written
      else written.catch(() => {})
    }
    const save: JobContext['save'] = async change => {
      records = change.progress?.processed ?? records
      await work.save(change)
    }
    try {
      await doJob({ ...work, save })
    } catch (error) {
      await recordOutcome(error).catch(() => {})
      throw error
    }
    await recordOutcome()
  }
}

interface JobEnd { readonly time: string, readonly records: number, readonly error: unknown }

function toJobAuditEntry (
  kind: JobKind,
  {
    job: {
      id,
      owner: { tenantId, keyId, mode },
      request
    },
    signal
  }: JobContext,
  { time, records, error }: JobEnd
): AuditEntry {
  const failure = error === undefined || signal.aborted ? undefined : toFailure(error)
  const type = request.kind === 'export' ? request.types.join(',') : request.type
  return {
    time,
    requestId: id,
    tenantId,
    keyId,
    mode,
    action: 'E',
    interaction: kind,
    ...(type !== undefined && { type }),
    records,
    outcome: failure === undefined ? '0' : failure.status >= 500 ? '8' : '4',
    ...(failure !== undefined && { code: failure.code })
  }
}
