import { setImmediate as breathe } from 'node:timers/promises'
import { Failure } from '../../envelope/failures.js'
import { recordOutcomes, buildFailedOutcome, type ImportContext } from './import-context.js'
import type { IndexFile } from './index-file.js'
import { states, type IndexedLine } from './index-rows.js'
import { Throttle } from './pace.js'
import { writeBatch } from './write-batch.js'

/**
 * Writes all lines that are not written, several transactions at a time, each line after those that it refers to. Lines
 * with a position in the order of writing are written while others are still read.
 * @param reading reads lines and orders them, a part at a time
 */
export async function writeLines (context: ImportContext, reading: AsyncGenerator<void>): Promise<void> {
  const pace = new Throttle()
  const running = new RunningTasks()
  const batches = new Batches(context, pace)
  let isReading = false
  let isRead = false
  const readOn = async (): Promise<void> => {
    isReading = true
    isRead = (await reading.next()).done === true
    isReading = false
  }
  try {
    for (;;) {
      context.signal.throwIfAborted()
      running.throwIfFailed()
      const selection = batches.selectNext()
      // While lines are still read, a transaction waits until it is full; and no more lines are read than fill it, so
      // that they are still cached when they are written.
      const isReady = selection !== undefined && selection.lines.length > 0 && (isRead || selection.isFull)
      if (selection !== undefined && !isReady && !isRead && !isReading) running.begin(readOn())
      if (isReady) running.begin(batches.write(selection.lines))
      // Without a wait here, other requests would not be served.
      if (isReady || (selection !== undefined && selection.blockedLines.length > 0)) await breathe()
      else if (running.size > 0) await running.waitForOne()
      else break
    }
  } finally {
    await running.waitForAll()
    await reading.return(undefined)
  }
}

/** Transactions of an import that are in preparation or under way. */
class Batches {
  readonly #context: ImportContext
  readonly #throttle: Throttle
  readonly #lines = new Set<number>()
  #size = 0

  constructor (context: ImportContext, pace: Throttle) {
    this.#context = context
    this.#throttle = pace
  }

  /** Ends lines that refer to a failed one. @returns the next lines to write; undefined while enough are under way */
  selectNext (): BatchSelection | undefined {
    if (this.#size >= this.#throttle.begun) return undefined
    const context = this.#context
    const selection = selectBatch(context.index, this.#lines, this.#throttle.bounds)
    if (selection.blockedLines.length > 0) {
      recordOutcomes(
        context,
        selection.blockedLines.map(blocked =>
          buildFailedOutcome(context, blocked.line, toBlockedFailure(context, blocked))
        )
      )
    }
    return selection
  }

  async write (lines: readonly IndexedLine[]): Promise<void> {
    this.#size++
    for (const { line } of lines) this.#lines.add(line)
    try {
      await writeBatch(this.#context, lines, this.#throttle)
    } finally {
      this.#size--
      for (const { line } of lines) this.#lines.delete(line)
    }
  }
}

/**
 * The failure of a line whose reference failed: the same failure when that is not about the line, such as an exhausted
 * quota.
 */
function toBlockedFailure (
  { index, seal }: ImportContext,
  { because: { line } }: BatchSelection['blockedLines'][number]
): Failure {
  const { code } = seal.open(line, index.getResult(line))
  const message = `The record refers to line ${line} of this import, which failed.`
  if (code === 'MONTHLY_QUOTA_EXCEEDED' || code === 'SANDBOX_QUOTA_EXCEEDED') return new Failure(code)
  return new Failure('VALIDATION_ERROR', { message })
}

/** Lines that can be written together now, and lines that can never be written. */
interface BatchSelection {
  /** In the order of writing; the lines of a cycle are adjacent. */
  readonly lines: readonly IndexedLine[]
  /** Whether no more lines fit. */
  readonly isFull: boolean
  /** Each with the failed line that it refers to. */
  readonly blockedLines: ReadonlyArray<{ readonly line: IndexedLine, readonly because: IndexedLine }>
}

/** The limits of one transaction. References of lines that have to wait count, too, since each is looked up. */
interface Bounds { readonly lines: number, readonly bytes: number, readonly references: number }

/** Lines that are checked per line that may be chosen. */
const lookAheadFactor = 4

/**
 * The next lines whose references are all stored, or chosen with them.
 * @param linesInProgress lines that are being written
 */
function selectBatch (index: IndexFile, linesInProgress: ReadonlySet<number>, bounds: Bounds): BatchSelection {
  return index.runInTransaction(() => {
    const choice = new Choice(index, bounds)
    for (const line of listWaiting(index, linesInProgress, bounds.lines)) {
      if (choice.has(line)) continue
      const one = index.getLine(line)
      if (!choice.add(one.cycle === null ? [one] : index.listCycleLines(one.cycle))) break
    }
    return choice
  })
}

/** Lines that are not being written, in the order of writing. @param max maximum number of lines to choose */
function * listWaiting (index: IndexFile, linesInProgress: ReadonlySet<number>, max: number): Generator<number> {
  let after = 0
  for (let checked = 0; checked < max * lookAheadFactor;) {
    const lines = index.listPending(after, max)
    for (const { line, position } of lines) {
      after = position
      if (linesInProgress.has(line)) continue
      checked++
      yield line
    }
    if (lines.length < max) return
  }
}

class Choice implements BatchSelection {
  readonly lines: IndexedLine[] = []
  readonly blockedLines: Array<BatchSelection['blockedLines'][number]> = []
  readonly #index: IndexFile
  readonly #bounds: Bounds
  readonly #chosen = new Set<number>()
  /** Lines of cycles and blocked lines, which need not be checked again. */
  readonly #checked = new Set<number>()
  #bytes = 0
  #references = 0
  #isFull = false

  constructor (index: IndexFile, bounds: Bounds) {
    this.#index = index
    this.#bounds = bounds
  }

  get isFull (): boolean {
    return this.#isFull || this.lines.length >= this.#bounds.lines || this.#isExhausted
  }

  /**
   * Whether the search is over. The first line in the order of writing is always checked, and waits only for lines that
   * are under way.
   */
  get #isExhausted (): boolean {
    return this.#references >= this.#bounds.references
  }

  has (line: number): boolean {
    return this.#chosen.has(line) || this.#checked.has(line)
  }

  /** @returns false when no more lines may be added */
  add (group: readonly IndexedLine[]): boolean {
    const own = new Set(group.map(({ line }) => line))
    if (own.size > 1) for (const line of own) this.#checked.add(line)
    const all = group.flatMap(({ line }) => this.#index.referred(line))
    this.#references += all.length
    const referred = all.filter(({ line }) => !own.has(line))
    const because = referred.find(({ state }) => state === states.failed)
    if (because !== undefined) return this.#blockLines(group, because)
    if (!referred.every(({ line, state }) => state === states.done || this.#chosen.has(line))) return !this.#isExhausted
    return this.#choose(group)
  }

  #blockLines (group: readonly IndexedLine[], because: IndexedLine): boolean {
    for (const line of group) {
      this.blockedLines.push({ line, because })
      this.#checked.add(line.line)
    }
    return !this.#isExhausted && this.blockedLines.length < this.#bounds.lines * lookAheadFactor
  }

  #choose (group: readonly IndexedLine[]): boolean {
    const bytes = group.reduce((sum, { bytes }) => sum + bytes, 0)
    const isFull = this.lines.length + group.length > this.#bounds.lines || this.#bytes + bytes > this.#bounds.bytes
    if (isFull && this.lines.length > 0) {
      this.#isFull = true
      return false
    }
    this.lines.push(...group)
    for (const { line } of group) this.#chosen.add(line)
    this.#bytes += bytes
    return !this.#isExhausted
  }
}

/** Running tasks; the first one that fails ends all. */
class RunningTasks {
  readonly #tasks = new Set<Promise<void>>()
  #error: { readonly error: unknown } | undefined

  get size (): number {
    return this.#tasks.size
  }

  begin (work: Promise<void>): void {
    const task = work.catch((error: unknown) => { this.#error ??= { error } }).finally(() => this.#tasks.delete(task))
    this.#tasks.add(task)
  }

  /** Waits until one task has ended. */
  async waitForOne (): Promise<void> {
    await Promise.race(this.#tasks)
  }

  /** @throws the error of the first task that failed */
  throwIfFailed (): void {
    if (this.#error !== undefined) throw this.#error.error
  }

  /** Waits until all tasks have ended, whether they succeed or fail. */
  async waitForAll (): Promise<void> {
    await Promise.all(this.#tasks)
  }
}
