import { Failure } from '../../envelope/failures.js'
import type { Occasion } from '../../mappings/kit/element.js'
import type { ImportRequest } from '../../jobs/job.js'
import type { RecordQuota, RecordTicket, RecordUse } from '../../limits/record-quota.js'
import { isCounted } from '../../limits/usage.js'
import type { ImportStore } from '../../tenant-guard/import/import-store.js'
import type { Work } from '../work.js'
import type { InputState } from './checkpoint.js'
import { uuidOf, type Identities, type Identity } from './identities.js'
import type { IndexFile } from './index-file.js'
import type { KeptRecords } from './kept-records.js'
import { failed, type Result, type Seal } from './result.js'

/** One import that is under way, and all that it works with. */
export interface Errand {
  readonly work: Work
  readonly request: ImportRequest
  readonly index: IndexFile
  readonly input: InputState
  readonly identities: Identities
  readonly seal: Seal
  /** What was read and is not written yet. */
  readonly kept: KeptRecords
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
export function occasionOf ({ work: { job }, url }: Errand, identity: Identity): Occasion {
  return { now: job.createdAt, keyName: job.owner.keyName, newUrl: () => `${url}/canonical/${uuidOf(identity)}` }
}

/** The type of lines at a place of the input that do not say their own. */
export function typeAt ({ index, request }: Errand, at: number): string | undefined {
  return index.typeAt(at) ?? request.type
}

/** The end of one line. */
export interface LineEnd {
  readonly line: number
  readonly type: string
  readonly result: Result
  readonly interaction: RecordUse['interaction']
  /** As the same write alone would be answered. */
  readonly status: number
  /** Absent for what does not count. */
  readonly ticket?: RecordTicket | undefined
}

/** Notes the results of lines, and counts those that are new once that is on the disk: a crash between loses a count and never doubles one. */
export function end ({ index, seal, quota, kept }: Errand, ends: readonly LineEnd[]): void {
  for (const { line } of ends) kept.drop(line)
  const unused = new Set(ends.map(({ ticket }) => ticket))
  try {
    const isNew = new Set(index.end(ends.map(({ line, result }) => ({ line, isFailed: result.status === 'failed', result: seal.close(line, result) }))))
    const uses = ends.flatMap(({ line, ticket, ...use }) => ticket !== undefined && isNew.has(line) ? [{ ticket, ...use }] : [])
    countNoted({ index, quota }, uses)
    for (const { ticket } of uses) unused.delete(ticket)
  } finally {
    for (const ticket of unused) ticket?.giveBack()
  }
}

/** Counts records once all that was noted until now is on the disk; when it never is, they are out of the month again. */
export function countNoted ({ index, quota }: Pick<Errand, 'index' | 'quota'>, uses: readonly RecordUse[]): void {
  index.afterwards(isWritten => isWritten ? quota.count(uses) : giveBack(uses))
}

/** Takes records out of the month that were not noted. */
export function giveBack (uses: readonly RecordUse[]): void {
  for (const { ticket } of uses) ticket.giveBack()
}

/** The end of a line that failed; it counts as the same record sent alone would, and past the allowance that is its failure. */
export function failedEnd ({ quota, request }: Errand, { line, type }: { readonly line: number, readonly type: string }, failure: Failure, ticket?: RecordTicket): LineEnd {
  const ended = { line, type, interaction: 'create' } as const
  if (ticket !== undefined) return { ...ended, result: failed(failure), status: failure.status, ticket }
  try {
    const taken = request.dryRun || !isCounted(failure.status) ? undefined : quota.take()
    return { ...ended, result: failed(failure), status: failure.status, ticket: taken }
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
