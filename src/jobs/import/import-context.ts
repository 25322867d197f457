import { Failure } from '../../envelope/failures.js'
import type { CreateContext } from '../../mappings/core/element.js'
import type { ImportRequest, Job } from '../model/job.js'
import type { RecordQuota, QuotaReservation, RecordUse } from '../../limits/record-quota.js'
import { isBillable } from '../../limits/usage.js'
import type { ImportStore } from '../../tenant-guard/import/import-store.js'
import type { FileState, JobContext } from '../job-context.js'
import type { DraftFile } from './drafts.js'
import { toUuid, type Identities, type Identity } from './line-ids.js'
import type { IndexFile } from './index-file.js'
import { toFailedResult, type Result, type ResultCipher } from './result.js'

/** The input of an import, with its state when it was last complete. */
export interface InputState extends FileState {
  readonly lines: number
  /** How many of the lines are blank, so that they have no result; absent for none. */
  readonly blank?: number
}

/** The state of an import in the control plane, which shows that its files are not older. The index holds the rest. */
export interface ImportCheckpoint {
  /** The input up to the last complete source; absent before the first source was fetched. */
  readonly input?: InputState
  /** The list of sources, until all of them were fetched. */
  readonly sources?: FileState
  /** How many sources were fetched. */
  readonly parts?: number
}

/** The checkpoint of an import, which only imports write; empty when the job has none. */
export function getImportCheckpoint ({ checkpoint }: Pick<Job, 'checkpoint'>): ImportCheckpoint {
  return (checkpoint ?? {}) as ImportCheckpoint
}

/** How many lines of an input have a record, and so a result. */
export const countRecordLines = ({ lines, blank = 0 }: InputState): number => lines - blank

/** The records of other types to which bare ids lead. */
interface FoundBareIds {
  get (key: string): readonly string[] | undefined
  has (key: string): boolean
  set (key: string, records: readonly string[]): unknown
}

/** A running import, and everything that its steps need. */
export interface ImportContext {
  readonly work: JobContext
  readonly request: ImportRequest
  readonly index: IndexFile
  readonly input: InputState
  readonly identities: Identities
  readonly seal: ResultCipher
  /** The lines that were read and are not written yet. */
  readonly drafts: DraftFile
  /** The records that bare ids of rejected lines refer to. */
  readonly bareIds: FoundBareIds
  readonly store: ImportStore
  readonly quota: RecordQuota
  /** Aborts when the work has to stop. */
  readonly signal: AbortSignal
  /** The maximum length of a line, in bytes. */
  readonly lineBytes: number
  /** The base URL of this gateway's raw FHIR. */
  readonly fhirBase: string
  /** The base URL of the gateway. */
  readonly url: string
}

/** The files of a job that hold its input, and what its lines became until they are written. */
export const inputFile = 'input'
export const draftsFile = 'drafts.db'

/** The context from which a record's defaults are filled in: the same in each run of the job. */
export function createContext ({ work: { job }, url }: ImportContext, identity: Identity): CreateContext {
  return { now: job.createdAt, keyName: job.owner.keyName, newUrl: () => `${url}/canonical/${toUuid(identity)}` }
}

/** The outcome of one line. */
export interface LineOutcome {
  readonly line: number
  readonly type: string
  readonly result: Result
  readonly interaction: RecordUse['interaction']
  /** The status that the same write would have as a single request. */
  readonly status: number
  /** Absent for a line that does not count. */
  readonly reservation?: QuotaReservation | undefined
}

/**
 * Stores the results of lines, and counts the new ones once they are on disk: a crash in between loses a count and
 * never doubles one.
 */
export function recordOutcomes ({ index, seal, quota, drafts }: ImportContext, ends: readonly LineOutcome[]): void {
  const unused = new Set(ends.map(({ reservation }) => reservation))
  try {
    const isNew = new Set(
      index.end(
        ends.map(({ line, result }) => ({
          line,
          isFailed: result.status === 'failed',
          result: seal.close(line, result)
        }))
      )
    )
    const uses = ends.flatMap(({ line, reservation, ...use }) =>
      reservation !== undefined && isNew.has(line) ? [{ reservation, ...use }] : []
    )
    recordUsage({ index, quota }, uses)
    for (const { reservation } of uses) unused.delete(reservation)
    index.onCommit(isWritten => { if (isWritten) drafts.drop(ends.map(({ line }) => line)) })
  } finally {
    for (const reservation of unused) reservation?.refund()
  }
}

/** Counts records once all that was stored until now is on disk; if it never is, their reservations are refunded. */
export function recordUsage (
  { index, quota }: Pick<ImportContext, 'index' | 'quota'>,
  uses: readonly RecordUse[]
): void {
  index.onCommit(isWritten => (isWritten ? quota.count(uses) : refund(uses)))
}

/** Refunds the reservations of records that were not stored. */
export function refund (uses: readonly RecordUse[]): void {
  for (const { reservation } of uses) reservation.refund()
}

/** A line that failed, and what was reserved of the quota for it. */
interface FailedLine {
  readonly line: number
  readonly type: string
  readonly reservation?: QuotaReservation | undefined
}

/**
 * The outcome of a failed line. It counts as the same record in a single request would, and past the monthly allowance
 * that is the failure.
 */
export function buildFailedOutcome (
  { quota, request }: ImportContext,
  { line, type, reservation }: FailedLine,
  failure: Failure
): LineOutcome {
  const ended = { line, type, interaction: 'create' } as const
  if (reservation !== undefined) {
    return { ...ended, result: toFailedResult(failure), status: failure.status, reservation }
  }
  try {
    const taken = request.dryRun || !isBillable(failure.status) ? undefined : quota.take()
    return { ...ended, result: toFailedResult(failure), status: failure.status, reservation: taken }
  } catch (error) {
    const exceeded = toQuotaFailure(error)
    return { ...ended, result: toFailedResult(exceeded), status: exceeded.status }
  }
}

/** The failure of an exhausted monthly quota. @throws any other error, which no line caused */
export function toQuotaFailure (error: unknown): Failure {
  if (error instanceof Failure && error.status === 429) return error
  throw error
}
