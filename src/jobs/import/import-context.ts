import { Failure } from '../../envelope/failures.js'
import type { CreateContext } from '../../mappings/core/element.js'
import type { ImportRequest } from '../model/job.js'
import type { RecordQuota, QuotaReservation, RecordUse } from '../../limits/record-quota.js'
import { isBillable } from '../../limits/usage.js'
import type { ImportStore } from '../../tenant-guard/import/import-store.js'
import type { JobContext } from '../job-context.js'
import type { InputState } from './checkpoint.js'
import { uuidOf, type Identities, type Identity } from './line-ids.js'
import type { IndexFile } from './index-file.js'
import type { RecordCache } from './kept-records.js'
import { failed, type Result, type ResultCipher } from './result.js'

/** One import that is under way, and all that it works with. */
export interface ImportContext {
  readonly work: JobContext
  readonly request: ImportRequest
  readonly index: IndexFile
  readonly input: InputState
  readonly identities: Identities
  readonly seal: ResultCipher
  /** What was read and is not written yet. */
  readonly stored: RecordCache
  readonly store: ImportStore
  readonly quota: RecordQuota
  /** Aborts when the work is to be left. */
  readonly signal: AbortSignal
  /** The longest line, in bytes. */
  readonly lineBytes: number
  /** Where this gateway's raw FHIR is. */
  readonly fhirBase: string
  /** Where the gateway is. */
  readonly url: string
}

/** The file of a job that holds its input. */
export const inputFile = 'input'

/** What the defaults of a record are filled in from: the same each time that the job is worked on. */
export function createContext ({ work: { job }, url }: ImportContext, identity: Identity): CreateContext {
  return { now: job.createdAt, keyName: job.owner.keyName, newUrl: () => `${url}/canonical/${uuidOf(identity)}` }
}

/** The type of lines at a place of the input that do not say their own. */
export function typeOfLine ({ index, request }: ImportContext, at: number): string | undefined {
  return index.typeAt(at) ?? request.type
}

/** The end of one line. */
export interface LineOutcome {
  readonly line: number
  readonly type: string
  readonly result: Result
  readonly interaction: RecordUse['interaction']
  /** As the same write alone would be answered. */
  readonly status: number
  /** Absent for what does not count. */
  readonly reservation?: QuotaReservation | undefined
}

/**
 * Notes the results of lines, and counts those that are new once that is on the disk: a crash between loses a count and
 * never doubles one.
 */
export function recordOutcomes ({ index, seal, quota, stored }: ImportContext, ends: readonly LineOutcome[]): void {
  for (const { line } of ends) stored.drop(line)
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
  } finally {
    for (const reservation of unused) reservation?.refund()
  }
}

/**
 * Counts records once all that was noted until now is on the disk; when it never is, they are out of the month again.
 */
export function recordUsage (
  { index, quota }: Pick<ImportContext, 'index' | 'quota'>,
  uses: readonly RecordUse[]
): void {
  index.afterwards(isWritten => (isWritten ? quota.count(uses) : refund(uses)))
}

/** Takes records out of the month that were not noted. */
export function refund (uses: readonly RecordUse[]): void {
  for (const { reservation } of uses) reservation.refund()
}

/**
 * The end of a line that failed; it counts as the same record sent alone would, and past the allowance that is its
 * failure.
 */
export function failedOutcome (
  { quota, request }: ImportContext,
  { line, type }: { readonly line: number; readonly type: string },
  failure: Failure,
  reservation?: QuotaReservation
): LineOutcome {
  const ended = { line, type, interaction: 'create' } as const
  if (reservation !== undefined) return { ...ended, result: failed(failure), status: failure.status, reservation }
  try {
    const taken = request.dryRun || !isBillable(failure.status) ? undefined : quota.take()
    return { ...ended, result: failed(failure), status: failure.status, reservation: taken }
  } catch (error) {
    const exceeded = exceededIn(error)
    return { ...ended, result: failed(exceeded), status: exceeded.status }
  }
}

/** That the month is used up. @throws whatever else went wrong, which is no line's fault */
export function exceededIn (error: unknown): Failure {
  if (error instanceof Failure && error.status === 429) return error
  throw error
}
