import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { AuditLog } from '../audit-log/audit-log.js'
import type { AuditEntry } from '../audit-log/entry.js'
import { failureOf } from '../envelope/error-handlers.js'
import type { DoJob, Work } from '../bulk/work.js'
import type { Config } from '../config.js'
import type { Accounts } from '../gateway/audit-accesses.js'
import type { JobKind } from '../jobs/job.js'
import type { Readings } from '../metrics/measurements.js'
import type { Closers } from './closers.js'
import type { ServiceParts } from './parts.js'

/** The access audit log of this process. */
export interface OpenAuditLog {
  readonly accounts: Accounts
  readonly counts: NonNullable<Readings['auditLog']>
}

/** Opens the log that the configuration names; undefined where it names none. */
export async function openAuditLog ({ auditLog: { file, fileBytes, isRequired, namesShown } }: Config, { log }: Pick<ServiceParts, 'log'>, closers: Closers): Promise<OpenAuditLog | undefined> {
  if (file === undefined) return undefined
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const opened = closers.add(await AuditLog.open({ file, fileBytes, log }))
  return {
    accounts: { add: entry => opened.add(entry), isFailing: () => opened.isFailing, isRequired, namesShown },
    counts: () => opened.counts
  }
}

/** The same work on jobs, for which a line says what each run of it came to. Where lines are required, a job is not done before its line is there. */
export function auditedJob (kind: JobKind, doJob: DoJob, { add, isRequired }: Accounts, now: () => Date): DoJob {
  return async work => {
    let records = work.job.progress.processed
    const line = async (error?: unknown): Promise<void> => {
      const written = add(entryOf(kind, work, { time: now().toISOString(), records, error }))
      if (isRequired) await written
      else written.catch(() => {})
    }
    const save: Work['save'] = async change => {
      records = change.progress?.processed ?? records
      await work.save(change)
    }
    try {
      await doJob({ ...work, save })
    } catch (error) {
      await line(error).catch(() => {})
      throw error
    }
    await line()
  }
}

interface Ended { readonly time: string, readonly records: number, readonly error: unknown }

function entryOf (kind: JobKind, { job: { id, owner: { tenantId, keyId, mode }, request }, signal }: Work, { time, records, error }: Ended): AuditEntry {
  const failure = error === undefined || signal.aborted ? undefined : failureOf(error)
  const type = request.kind === 'export' ? request.types.join(',') : request.type
  return { time, requestId: id, tenantId, keyId, mode, action: 'E', interaction: kind, ...type !== undefined && { type }, records, outcome: failure === undefined ? '0' : failure.status >= 500 ? '8' : '4', ...failure !== undefined && { code: failure.code } }
}
