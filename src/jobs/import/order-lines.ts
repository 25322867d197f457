import { setImmediate as breathe } from 'node:timers/promises'
import { Failure } from '../../envelope/failures.js'
import { recordOutcomes, buildFailedOutcome, type ImportContext } from './import-context.js'
import { maxBytes, maxReferences } from './pace.js'

/** Maximum number of lines in a cycle, which go into one transaction. */
const maxCycleLines = 500
/** Lines that are checked, or put into the index, before other requests are served. */
const linesPerTurn = 1_000

/**
 * Puts all lines of an import in an order in which they can be written: the order of the input, if no line refers to a
 * later one.
 */
export async function orderLines (context: ImportContext): Promise<void> {
  const { index } = context
  while (index.link(maxReferences)) await pause(context)
  if (index.has('hasForwardReferences')) await orderAll(context)
  else await orderAllAsRead(context)
  index.set('ordered')
}

/** Lets other requests run, and checks the free disk space. */
async function pause ({ signal, work: { files } }: ImportContext): Promise<void> {
  await breathe()
  signal.throwIfAborted()
  await files.requireRoom()
}

async function orderAllAsRead (context: ImportContext): Promise<void> {
  const { index } = context
  const { last } = index
  for (let after = 0; after < last; after += linesPerTurn) {
    index.orderAsRead({ after, upTo: after + linesPerTurn })
    await pause(context)
  }
}

async function orderAll (context: ImportContext): Promise<void> {
  const { index } = context
  const positions = new LineOrder(context)
  for (let after = 0; ;) {
    const waiting = index.listUnordered(after, linesPerTurn)
    if (waiting.length === 0) return
    const placing = computePositions(waiting, context, positions)
    let step
    do {
      step = index.runInTransaction(() => placing.next())
      positions.note()
      await pause(context)
    } while (step.done !== true)
    if (step.value === undefined) after = waiting.at(-1)!
    else fail(context, step.value.map(line => [line, 'The line\'s references lead through too many other lines.']))
  }
}

/**
 * Yields whenever enough lines were checked or found.
 * @returns lines on the path that can't be written, if any: the remaining lines are not ordered yet
 */
function * computePositions (
  waiting: readonly number[],
  { index }: ImportContext,
  positions: LineOrder
): Generator<void, readonly number[] | undefined> {
  let checked = 0
  const isOrdered = (line: number): boolean => {
    checked++
    return positions.has(line) || index.isOrdered(line)
  }
  try {
    for (const lines of sortTopologically(waiting, { referred: line => index.targets(line), isOrdered })) {
      positions.add(lines)
      if (checked < maxReferences && positions.size < linesPerTurn) continue
      yield
      checked = 0
    }
    return undefined
  } catch (error) {
    // Not rethrown, since the positions found so far remain valid.
    if (error instanceof TooDeep) return error.lines
    throw error
  }
}

/** Positions that are not in the index yet. */
class LineOrder {
  readonly #context: ImportContext
  readonly #next = new Map<number, { readonly position: number, readonly cycle: number | null }>()
  /** Lines without a position, with the message that they fail with. */
  readonly #failed = new Map<number, string>()
  #position: number

  constructor (context: ImportContext) {
    this.#context = context
    this.#position = context.index.getNextPosition()
  }

  get size (): number {
    return this.#next.size + this.#failed.size
  }

  has (line: number): boolean {
    return this.#next.has(line) || this.#failed.has(line)
  }

  add (lines: ReferenceCycle): void {
    const error = this.#findError(lines)
    const cycle = lines.length > 1 ? lines[0]! : null
    for (const line of lines) {
      if (error === undefined) this.#next.set(line, { position: this.#position++, cycle })
      else this.#failed.set(line, error)
    }
  }

  /** Why the lines of a cycle, which can only be written together, can't be written; undefined if they can. */
  #findError (lines: ReferenceCycle): string | undefined {
    const { index, lineBytes } = this.#context
    if (lines.length === 1) return undefined
    if (lines.length > maxCycleLines) {
      return `The line is part of a reference cycle of more than ${maxCycleLines} lines.`
    }
    const references = sumOf(lines, line => index.targets(line).length)
    if (references > maxReferences) {
      return `The line is part of a reference cycle whose lines together have more than ${maxReferences} references. Split the records.`
    }
    // They are in memory together, like one line.
    const max = Math.max(lineBytes, maxBytes)
    return sumOf(lines, line => index.getLine(line).bytes) > max
      ? `The line is part of a reference cycle whose lines together have more than ${max} bytes. Send smaller records, or remove some of the references.`
      : undefined
  }

  /** Writes the positions to the index. */
  note (): void {
    this.#context.index.order([...this.#next].map(([line, slot]) => ({ line, ...slot })))
    this.#next.clear()
    fail(this.#context, this.#failed)
    this.#failed.clear()
  }
}

function sumOf (lines: ReferenceCycle, count: (line: number) => number): number {
  return lines.reduce((sum, line) => sum + count(line), 0)
}

/** @param lines each with the message that it fails with */
function fail (context: ImportContext, lines: Iterable<readonly [number, string]>): void {
  recordOutcomes(
    context,
    [...lines].map(([line, message]) =>
      buildFailedOutcome(
        context,
        { line, type: context.index.getType(line) },
        new Failure('VALIDATION_ERROR', { message })
      )
    )
  )
}

/** Lines that refer to each other, or a single line that does not; the lines that they refer to come earlier. */
type ReferenceCycle = readonly number[]

/** The references from which the order of lines is computed. */
interface References {
  /** The lines that one refers to. */
  readonly referred: (line: number) => readonly number[]
  /** Whether a line came earlier, or need not come. */
  readonly isOrdered: (line: number) => boolean
}

interface Visit {
  readonly line: number
  readonly number: number
  lowest: number
  readonly targets: readonly number[]
  next: number
}

/** Limits that bound memory: lines on the path of references that are followed, and the references of those lines. */
const maxPathLength = 20_000
const maxFollowed = 100_000

/** Chains of references that are too long to order in bounded memory. */
export class TooDeep extends Error {
  constructor (readonly lines: readonly number[]) {
    super('the reference chains of an import are too long')
    this.name = 'TooDeep'
  }
}

/**
 * Orders lines, and those that they refer to, so that each comes after its references; a cycle is one item. R. Tarjan,
 * Depth-first search and linear graph algorithms, 1972; only the path from the current line is in memory.
 * @throws {TooDeep}
 */
export function * sortTopologically (
  lines: readonly number[],
  { referred, isOrdered }: References
): Generator<ReferenceCycle> {
  for (const line of lines) if (!isOrdered(line)) yield * visitFrom(line, { referred, isOrdered })
}

function * visitFrom (first: number, { referred, isOrdered }: References): Generator<ReferenceCycle> {
  const visits = new Map<number, Visit>()
  const path: Visit[] = []
  const open: number[] = []
  let number = 0
  let followed = 0
  const enter = (line: number): void => {
    if (visits.size >= maxPathLength || followed >= maxFollowed) throw new TooDeep([...visits.keys()])
    const visit: Visit = { line, number, lowest: number++, targets: referred(line), next: 0 }
    visits.set(line, visit)
    followed += visit.targets.length
    path.push(visit)
    open.push(line)
  }
  enter(first)
  while (path.length > 0) {
    const visit = path.at(-1)!
    const target = visit.targets[visit.next++]
    if (target !== undefined) {
      const seen = visits.get(target)
      if (seen !== undefined) visit.lowest = Math.min(visit.lowest, seen.number)
      else if (!isOrdered(target)) enter(target)
      continue
    }
    path.pop()
    const before = path.at(-1)
    if (before !== undefined) before.lowest = Math.min(before.lowest, visit.lowest)
    if (visit.lowest !== visit.number) continue
    const component = open.splice(open.lastIndexOf(visit.line))
    for (const line of component) {
      followed -= visits.get(line)!.targets.length
      visits.delete(line)
    }
    yield component.sort((a, b) => a - b)
  }
}
