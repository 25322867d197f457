import { setImmediate as breathe } from 'node:timers/promises'
import { failureOf } from '../../envelope/error-handlers.js'
import { Failure } from '../../envelope/failures.js'
import type { QuotaReservation } from '../../limits/record-quota.js'
import { ReferenceFailure } from '../../tenant-guard/writes/references.js'
import { recordOutcomes, exceededIn, failedOutcome, type ImportContext, type LineOutcome } from './import-context.js'
import { idOf } from './line-ids.js'
import { states, type IndexedLine, type LineAction } from './index-rows.js'
import type { Throttle } from './pace.js'
import { prepareAll, type Entry, type QuotaReservations } from './prepare-lines.js'
import { toLineFailure } from './references.js'

/**
 * Writes lines whose references are stored or among them. What keeps one line from being written ends that line; others
 * that can't be written without it stay for another time.
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
    const entries = await withRetry(context, pace, () =>
      prepareAll(
        context,
        lines.filter(({ line }) => reservations.has(line)),
        reservations
      )
    )
    const ends = entries.flatMap(entry => ('result' in entry ? [entry] : []))
    note(ends)
    if (ends.some(({ result }) => result.status === 'failed')) return
    const open = entries.flatMap(entry => ('result' in entry ? [] : [entry]))
    if (open.length === 0) return
    if (context.request.dryRun) return note(await check(context, open))
    await breathe()
    context.index.send(open.map(({ line: { line }, plan }) => ({ line, plan })))
    await write({ context, pace, note }, open)
  } finally {
    for (const [line, reservation] of reservations) if (!used.has(line)) reservation?.refund()
  }
}

/** Takes from the month for each line; from the first one on for which nothing is left, no line is written. */
export function reserveQuota (
  context: ImportContext,
  lines: readonly IndexedLine[]
): { readonly reservations: QuotaReservations; readonly refused: readonly LineOutcome[] } {
  const reservations = new Map<number, QuotaReservation | undefined>()
  const groups = groupsOf(lines, line => line)
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
      const failure = exceededIn(error)
      return {
        reservations,
        refused: groups
          .slice(at)
          .flat()
          .map(line => failedOutcome(context, line, failure))
      }
    }
  }
  return { reservations, refused: [] }
}

/** Lines of a circle together, each other one alone. */
function groupsOf<T> (items: readonly T[], lineOf: (item: T) => IndexedLine): T[][] {
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

/** What a dry run says of lines: those that would be written, and those that refer to what is not there. */
async function check (context: ImportContext, entries: readonly Entry[]): Promise<readonly LineOutcome[]> {
  const { index } = context
  const others = index
    .together(() => entries.flatMap(({ line }) => index.referred(line.line)))
    .map(({ type, identity }) => `${type}/${idOf(identity)}`)
  const refused = await context.store.refused(entries.map(({ record }) => record), others)
  return entries.map((entry, at) => {
    const failure = refused.get(at)
    return failure === undefined ? endOf(entry, 'valid') : refusedEnd(context, entry, failure)
  })
}

function endOf ({ line, record: { type, id }, plan, reservation }: Entry, status: 'valid' | LineAction): LineOutcome {
  return {
    line: line.line,
    type,
    result: { status, ...(status !== 'valid' && { id }) },
    status: plan === 'created' ? 201 : 200,
    interaction: plan === 'created' ? 'create' : 'update',
    reservation
  }
}

function refusedEnd (
  context: ImportContext,
  { line, record: { type }, mapping, fields, reservation }: Entry,
  failure: Failure
): LineOutcome {
  const named = failure instanceof ReferenceFailure ? toLineFailure(mapping, fields, failure) : failure
  return failedOutcome(context, { line: line.line, type }, named, reservation)
}

interface Writing {
  readonly context: ImportContext
  readonly pace: Throttle
  readonly note: (ends: readonly LineOutcome[]) => void
}

/**
 * How often lines are sent again when the datastore has errors with them and with no others, or somebody else writes
 * the same ones.
 */
const maxTries = 3

interface Attempt { readonly tries: number, readonly isPart: boolean }

/** Writes entries in one transaction; when that is refused, in two, until the one at fault is alone. */
async function write (
  writing: Writing,
  entries: readonly Entry[],
  attempt: Attempt = { tries: 1, isPart: false }
): Promise<void> {
  const { context, pace, note } = writing
  if (entries.length === 0) return
  try {
    const together = await pace.turn(async () => {
      context.signal.throwIfAborted()
      return await context.store.write(entries.map(({ record }) => record))
    })
    if ('refused' in together) {
      return note([...together.refused].map(([at, failure]) => refusedEnd(context, entries[at]!, failure)))
    }
    pace.succeeded(entries.length)
    note(entries.map((entry, at) => toOutcome(context, entry, together.written[at])))
  } catch (error) {
    const failure = failureOf(error)
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
  else if (!isPart) pace.refused()
  if (failure.code === 'BACKEND_UNAVAILABLE' || (isFailure && tries < maxTries)) {
    return await write(writing, entries, { tries: tries + 1, isPart })
  }
  const groups = groupsOf(entries, ({ line }) => line)
  if (groups.length > 1) {
    const half = Math.ceil(groups.length / 2)
    await write(writing, groups.slice(0, half).flat(), { tries: 1, isPart: true })
    return await write(writing, standing(context, groups.slice(half)), { tries: 1, isPart: true })
  }
  // Made again of what is stored by then, since one is a change of it.
  if (failure.code === 'CONFLICT' && pace.mayTryAgain(entries[0]!.line.line, maxTries)) return
  note(entries.map(entry => refusedEnd(context, entry, failure)))
}

/** Those of the groups whose references are stored or among them; the others stay for another time. */
function standing ({ index }: ImportContext, groups: readonly Entry[][]): Entry[] {
  const open = new Set<number>()
  return index.together(() => groups.filter(group => {
    const own = new Set(group.map(({ line }) => line.line))
    const stands = group.every(({ line }) =>
      index.referred(line.line).every(({ line, state }) => state === states.done || open.has(line) || own.has(line))
    )
    if (stands) for (const line of own) open.add(line)
    return stands
  })).flat()
}

function toOutcome (context: ImportContext, entry: Entry, failure: Failure | undefined): LineOutcome {
  return failure === undefined ? endOf(entry, entry.plan) : refusedEnd(context, entry, failure)
}

/** Does what only reads, again and again while the datastore has errors. */
export async function withRetry<T> ({ signal }: ImportContext, pace: Throttle, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      const failure = failureOf(error)
      if (failure.status < 502) throw error
      await pace.wait(failure, { tries, signal })
    }
  }
}
