import { setImmediate as breathe } from 'node:timers/promises'
import { Failure } from '../../envelope/failures.js'
import { selectBatch, type BatchSelection } from './select-batch.js'
import { recordOutcomes, failedOutcome, type ImportContext } from './import-context.js'
import type { IndexedLine } from './index-rows.js'
import { Throttle } from './pace.js'
import { writeBatch } from './write-batch.js'

/**
 * Writes all lines that are not written, several transactions at a time, each line after those that it refers to. Lines
 * with a position in the order of writing are written while others are still read.
 * @param reading reads lines and orders them, a part at a time
 */
export async function writeLines (context: ImportContext, reading: AsyncGenerator<void>): Promise<void> {
  const pace = new Throttle()
  const underWay = new UnderWay()
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
      underWay.throwIfFailed()
      const chosen = batches.next()
      // While lines are still read, a transaction waits until it is full; and no more lines are read than fill it, so
      // that they are still cached when they are written.
      const isReady = chosen !== undefined && chosen.lines.length > 0 && (isRead || chosen.isFull)
      if (chosen !== undefined && !isReady && !isRead && !isReading) underWay.begin(readOn())
      if (isReady) underWay.begin(batches.write(chosen.lines))
      // Without a wait here, other requests would not be served.
      if (isReady || (chosen !== undefined && chosen.blockedLines.length > 0)) await breathe()
      else if (underWay.size > 0) await underWay.one()
      else break
    }
  } finally {
    await underWay.all()
    await reading.return(undefined)
  }
}

/** Transactions of an import that are in preparation or under way. */
class Batches {
  readonly #context: ImportContext
  readonly #pace: Throttle
  readonly #lines = new Set<number>()
  #size = 0

  constructor (context: ImportContext, pace: Throttle) {
    this.#context = context
    this.#pace = pace
  }

  /** Ends lines that refer to a failed one. @returns the next lines to write; undefined while enough are under way */
  next (): BatchSelection | undefined {
    if (this.#size >= this.#pace.begun) return undefined
    const context = this.#context
    const chosen = selectBatch(context.index, this.#lines, this.#pace.bounds)
    if (chosen.blockedLines.length > 0) {
      recordOutcomes(
        context,
        chosen.blockedLines.map(doomed => failedOutcome(context, doomed.line, failureOfDoomed(context, doomed)))
      )
    }
    return chosen
  }

  async write (lines: readonly IndexedLine[]): Promise<void> {
    this.#size++
    for (const { line } of lines) this.#lines.add(line)
    try {
      await writeBatch(this.#context, lines, this.#pace)
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
function failureOfDoomed (
  { index, seal }: ImportContext,
  { because: { line } }: BatchSelection['blockedLines'][number]
): Failure {
  const { code } = seal.open(line, index.result(line))
  const message = `The record refers to line ${line} of this import, which failed.`
  if (code === 'MONTHLY_QUOTA_EXCEEDED' || code === 'SANDBOX_QUOTA_EXCEEDED') return new Failure(code)
  return new Failure('VALIDATION_ERROR', { message })
}

/** Running tasks; the first one that fails ends all. */
class UnderWay {
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
  async one (): Promise<void> {
    await Promise.race(this.#tasks)
  }

  /** @throws the error of the first task that failed */
  throwIfFailed (): void {
    if (this.#error !== undefined) throw this.#error.error
  }

  /** Waits until all tasks have ended, whether they succeed or fail. */
  async all (): Promise<void> {
    await Promise.all(this.#tasks)
  }
}
