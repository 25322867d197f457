import { setImmediate as breathe } from 'node:timers/promises'
import { toFailure } from '../../envelope/error-handlers.js'
import { Failure, type Issue } from '../../envelope/failures.js'
import type { QuotaReservation } from '../../limits/record-quota.js'
import type { RecordOutcome } from '../../tenant-guard/import/import-store.js'
import { ReferenceFailure } from '../../tenant-guard/writes/references.js'
import {
  recordOutcomes, toQuotaFailure, buildFailedOutcome, type ImportContext, type LineOutcome
} from './import-context.js'
import { toRecordId } from './line-ids.js'
import { states, type IndexedLine, type LineAction } from './index-rows.js'
import type { Throttle } from './pace.js'
import { prepareAll, type Entry, type QuotaReservations } from './prepare-lines.js'
import { lookUpBareIds, toLineFailure } from './references.js'
import { toResultWarnings } from './result.js'

/**
 * Writes lines whose references are stored or among them. A line that can't be written ends with its error; lines that
 * depend on it are left for a later batch.
 */
export async function writeBatch (
  context: ImportContext,
  lines: readonly IndexedLine[],
  pace: Throttle
): Promise<void> {
  const { reservations, refused } = reserveQuota(context, lines)
  recordOutcomes(context, refused)
  const used = new Set<number>()
  const note = (ends: readonly LineOutcome[]): void => {
    recordOutcomes(context, ends)
    for (const { line } of ends) used.add(line)
  }
  try {
    const { open, ended } = await withRetry(context, pace, () => prepareAll(context, lines, reservations))
    note(ended)
    if (ended.some(({ result }) => result.status === 'failed')) return
    if (open.length === 0) return
    if (context.request.dryRun) return note(await check(context, open))
    await breathe()
    context.index.send(open.map(({ line: { line }, plan }) => ({ line, plan })))
    await write({ context, pace, note }, open)
  } finally {
    for (const [line, reservation] of reservations) if (!used.has(line)) reservation?.refund()
  }
}

/** Reserves monthly quota for each line; from the first line without quota on, lines are refused. */
export function reserveQuota (
  context: ImportContext,
  lines: readonly IndexedLine[]
): { readonly reservations: QuotaReservations; readonly refused: readonly LineOutcome[] } {
  const reservations = new Map<number, QuotaReservation | undefined>()
  const groups = groupByCycle(lines, line => line)
  for (const [at, group] of groups.entries()) {
    const taken: QuotaReservation[] = []
    try {
      for (const { line } of group) {
        if (!context.request.dryRun) taken.push(context.quota.take())
        reservations.set(line, taken.at(-1))
      }
    } catch (error) {
      for (const reservation of taken) reservation.refund()
      for (const { line } of group) reservations.delete(line)
      const failure = toQuotaFailure(error)
      return {
        reservations,
        refused: groups
          .slice(at)
          .flat()
          .map(line => buildFailedOutcome(context, line, failure))
      }
    }
  }
  return { reservations, refused: [] }
}

/** Groups the lines of a cycle, each other line separately. */
function groupByCycle<T> (items: readonly T[], lineOf: (item: T) => IndexedLine): T[][] {
  const groups: T[][] = []
  let last: number | null = null
  for (const item of items) {
    const { cycle } = lineOf(item)
    if (cycle !== null && cycle === last) groups.at(-1)!.push(item)
    else groups.push([item])
    last = cycle
  }
  return groups
}

/** The outcomes of a dry run: lines that would be written, and lines that refer to missing records. */
async function check (context: ImportContext, entries: readonly Entry[]): Promise<readonly LineOutcome[]> {
  const { index } = context
  const others = index
    .runInTransaction(() => entries.flatMap(({ line }) => index.referred(line.line)))
    .map(({ type, identity }) => `${type}/${toRecordId(identity)}`)
  const refused = await context.store.findRejected(entries.map(({ record }) => record), others)
  const ends = await buildRejectedOutcomes(context, entries, refused)
  return entries.map((entry, at) => (refused.has(at) ? ends.get(at) : undefined) ?? toAcceptedOutcome(entry, 'valid'))
}

/**
 * The outcomes of refused lines by their places; none for a line whose bare ids are found among records of other types.
 */
async function buildRejectedOutcomes (
  context: ImportContext,
  entries: readonly Entry[],
  refused: ReadonlyMap<number, Failure>
): Promise<ReadonlyMap<number, LineOutcome>> {
  const lines = [...refused].map(([at, failure]) => ({ at, failure, entry: entries[at]! }))
  const found = await lookUpBareIds(context, lines.map(({ entry, failure }) => ({ ...entry, failure })))
  return new Map(
    lines
      .filter((_, i) => !found[i])
      .map(({ at, entry, failure }) => [at, toRejectedOutcome(context, entry, failure)])
  )
}

function toAcceptedOutcome (
  { line, record: { type, id }, plan, warnings, reservation }: Entry,
  status: 'valid' | LineAction,
  differences: readonly Issue[] = []
): LineOutcome {
  return {
    line: line.line,
    type,
    result: { status, ...(status !== 'valid' && { id }), ...toResultWarnings([...warnings, ...differences]) },
    status: plan === 'created' ? 201 : 200,
    interaction: plan === 'created' ? 'create' : 'update',
    reservation
  }
}

function toRejectedOutcome (
  context: ImportContext,
  { line, record: { type }, mapping, fields, reservation }: Entry,
  failure: Failure
): LineOutcome {
  const named = failure instanceof ReferenceFailure ? toLineFailure(mapping, fields, failure) : failure
  return buildFailedOutcome(context, { line: line.line, type, reservation }, named)
}

interface Writing {
  readonly context: ImportContext
  readonly pace: Throttle
  readonly note: (ends: readonly LineOutcome[]) => void
}

/**
 * Maximum number of attempts when the datastore has errors only with these lines, or another client changes the same
 * records.
 */
const maxTries = 3

interface Attempt { readonly tries: number, readonly isPart: boolean }

/** Writes entries in one transaction; if it is refused, in two, until the entry at fault is alone. */
async function write (
  writing: Writing,
  entries: readonly Entry[],
  attempt: Attempt = { tries: 1, isPart: false }
): Promise<void> {
  const { context, pace, note } = writing
  if (entries.length === 0) return
  try {
    const outcome = await pace.turn(async () => {
      context.signal.throwIfAborted()
      return await context.store.write(entries.map(({ record }) => record))
    })
    if ('refused' in outcome) {
      // Records that are found are prepared again, in a later batch.
      return note([...(await buildRejectedOutcomes(context, entries, outcome.refused)).values()])
    }
    pace.recordSuccess(entries.length)
    note(entries.map((entry, at) => toOutcome(context, entry, outcome.written[at]!)))
  } catch (error) {
    const failure = toFailure(error)
    if (failure.code === 'INTERNAL_ERROR') throw error
    await writeAgain(writing, entries, { ...attempt, failure })
  }
}

async function writeAgain (
  writing: Writing,
  entries: readonly Entry[],
  { failure, tries, isPart }: Attempt & { readonly failure: Failure }
): Promise<void> {
  const { context, pace, note } = writing
  const isFailure = failure.status >= 500
  if (isFailure) await pace.wait(failure, { tries, signal: context.signal })
  else if (!isPart) pace.recordRejection()
  if (failure.code === 'BACKEND_UNAVAILABLE' || (isFailure && tries < maxTries)) {
    return await write(writing, entries, { tries: tries + 1, isPart })
  }
  const groups = groupByCycle(entries, ({ line }) => line)
  if (groups.length > 1) {
    const half = Math.ceil(groups.length / 2)
    await write(writing, groups.slice(0, half).flat(), { tries: 1, isPart: true })
    return await write(writing, filterWritable(context, groups.slice(half)), { tries: 1, isPart: true })
  }
  // It is prepared again from the record stored by then, since the line is a change of that record.
  if (failure.code === 'CONFLICT' && pace.mayTryAgain(entries[0]!.line.line, maxTries)) return
  note(entries.map(entry => toRejectedOutcome(context, entry, failure)))
}

/** The groups whose references are stored or among them; the others are left for a later batch. */
function filterWritable ({ index }: ImportContext, groups: readonly Entry[][]): Entry[] {
  const open = new Set<number>()
  return index.runInTransaction(() => groups.filter(group => {
    const own = new Set(group.map(({ line }) => line.line))
    const isWritable = group.every(({ line }) =>
      index.referred(line.line).every(({ line, state }) => state === states.done || open.has(line) || own.has(line))
    )
    if (isWritable) for (const line of own) open.add(line)
    return isWritable
  })).flat()
}

function toOutcome (context: ImportContext, entry: Entry, { failure, warnings }: RecordOutcome): LineOutcome {
  return failure === undefined
    ? toAcceptedOutcome(entry, entry.plan, warnings)
    : toRejectedOutcome(context, entry, failure)
}

/** Runs a function that only reads, and retries while the datastore has errors. */
export async function withRetry<T> ({ signal }: ImportContext, pace: Throttle, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      const failure = toFailure(error)
      if (failure.status < 502) throw error
      await pace.wait(failure, { tries, signal })
    }
  }
}
