import { randomUUID } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Health } from '../../envelope/health-states.js'
import { FileFailure } from '../../control-plane/outbox/messages.js'
import { listBrokenFiles, resolveCompiledModule, FileWriter } from '../../control-plane/outbox/file-writer.js'
import type { FlushBatch } from './file.js'
import { MonthlyUsageReader, type MonthCount, type StoredMonthUsage } from './months.js'
import { countRequestsInMonth, UsageCounter } from './tally.js'
import { linesPerBatch, type QuotaScope, type UsageBatch, type UsageAck, type UsageEvent } from '../usage.js'

/** Writes a ledger's file in a separate thread. Calls run in order. */
class LedgerWriter {
  readonly #now: () => Date
  readonly #file: FileWriter

  /** `now` is the wall clock. */
  constructor (path: string, now: () => Date) {
    this.#now = now
    const thread = resolveCompiledModule('limits/usage-ledger/thread.js')
    this.#file = new FileWriter({ path, thread, name: 'usage-ledger', now })
  }

  /** Checks that the file is usable. @throws {FileFailure} like all methods */
  open (): Promise<void> {
    return this.#file.call('open')
  }

  /** Resolves when the lines are on disk. A flush that was already written is ignored. */
  add (deposit: FlushBatch): Promise<void> {
    return this.#file.call('add', deposit)
  }

  nextBatch (): Promise<UsageBatch | undefined> {
    return this.#file.call('nextBatch', linesPerBatch)
  }

  settle (receipt: UsageAck): Promise<void> {
    return this.#file.call('applyAck', receipt, this.#now())
  }

  /** Closes the file after earlier calls have finished, and ends the thread. */
  close (): Promise<void> {
    return this.#file.close()
  }
}

/** `now` is the wall clock. */
export interface LedgerOptions {
  readonly file: string
  readonly now: () => Date
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>
  /** The maximum time that a count is only in memory, in milliseconds. */
  readonly flushMs?: number
  /** The maximum number of lines in memory while the disk fails. */
  readonly maxLines?: number
}

/** The state of the ledger. `lostRequests` did not fit in memory while the disk failed, and are not counted. */
interface LedgerCheck {
  readonly status: Health
  /** Counts that are only in memory. */
  readonly linesInMemory: number
  readonly lostRequests: number
  /** Names of corrupt files that were set aside. The check passes once they are moved out of the data directory. */
  readonly broken: readonly string[]
}

/** The number of lines that triggers an early flush. */
const flushedLines = 5_000
/** Maximum number of lines in one message to the writer, since that blocks this thread briefly. */
const maxAtOnce = 10_000

/**
 * Counts the requests of one gateway: immediately in memory, and within half a second on disk, so that a crash loses at
 * most the last second. No request waits for the disk or fails because of it. Lines that can't be written stay in
 * memory and are retried.
 */
export class UsageLedger {
  readonly #options: LedgerOptions
  readonly #tally: UsageCounter
  readonly #timer: NodeJS.Timeout
  readonly #writer: LedgerWriter
  readonly #months: MonthlyUsageReader
  /** Removed from the tally, and possibly on disk. */
  #batch: FlushBatch | undefined
  #isFailing = false
  #writing = Promise.resolve()
  #next: Promise<void> | undefined
  #closing: Promise<void> | undefined

  /** Resolves when it is known whether the file is usable, which {@link check} then reports. */
  readonly opened: Promise<void>

  constructor (options: LedgerOptions) {
    const { file, now, flushMs = 500, maxLines = 100_000 } = options
    this.#options = options
    this.#tally = new UsageCounter(maxLines)
    this.#writer = new LedgerWriter(file, now)
    this.#months = new MonthlyUsageReader(file)
    this.#timer = setInterval(() => this.flush(), flushMs).unref()
    this.opened = this.flush()
  }

  /** Counts a request, or a record of an import. `at` is when it arrived, ISO 8601 in UTC. */
  record (use: UsageEvent, at: string): void {
    this.#tally.add(use, at)
    if (this.#tally.size === flushedLines && !this.#isFailing) this.flush()
  }

  /**
   * Writes counts in memory to disk. Also resolves on failure, which is logged once and shown by {@link check} while it
   * lasts.
   */
  flush (): Promise<void> {
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined
      this.#writing = this.#write()
      return this.#writing
    })
    return this.#next
  }

  /** The next batch for the control plane; undefined if it has everything. @throws {FileFailure} */
  nextBatch (): Promise<UsageBatch | undefined> {
    return this.#withFailureHandling(this.#writer.nextBatch())
  }

  /** Applies the receipt of a batch. @throws {FileFailure} */
  settle (receipt: UsageAck): Promise<void> {
    return this.#withFailureHandling(this.#writer.settle(receipt))
  }

  /** The counts of a pool in a month, including those in memory. If the disk can't be read, only those in memory. */
  getMonthCount (pool: QuotaScope, month: string): MonthCount {
    const { written, own, others } = this.#readMonth(pool, month)
    const inFlightCount =
      this.#batch === undefined || this.#batch.name === written
        ? 0
        : countRequestsInMonth(this.#batch.lines, pool, month)
    return { own: own + inFlightCount + this.#tally.countInMonth(pool, month), others }
  }

  /** The state of the ledger. */
  check (): LedgerCheck {
    const broken = listBrokenFiles(this.#options.file)
    const isOk = !this.#isFailing && this.#tally.lost === 0 && broken.length === 0
    return {
      status: isOk ? 'ok' : 'degraded',
      linesInMemory: this.#countLinesInMemory(),
      lostRequests: this.#tally.lost,
      broken
    }
  }

  /** Flushes and closes. Logs the loss of counts if the disk still fails. */
  close (): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close (): Promise<void> {
    clearInterval(this.#timer)
    do await this.flush()
    while (this.#tally.size > 0 && !this.#isFailing)
    if (this.#countLinesInMemory() > 0) {
      this.#options.log.error(
        { lines: this.#countLinesInMemory() },
        'the usage ledger could not be written; counts in memory are lost'
      )
    }
    // Before the writer: the last connection to close merges the write-ahead log into the file.
    this.#months.close()
    await this.#writer.close()
  }

  #countLinesInMemory (): number {
    return this.#tally.size + (this.#batch?.lines.length ?? 0)
  }

  async #write (): Promise<void> {
    try {
      await this.#writer.open()
      if (this.#batch !== undefined) await this.#put(this.#batch)
      if (this.#tally.size > 0) await this.#put({ name: randomUUID(), lines: this.#tally.take(maxAtOnce) })
      this.#handleSuccess()
    } catch (error) {
      this.#handleFailure(error)
    }
  }

  async #put (deposit: FlushBatch): Promise<void> {
    this.#batch = deposit
    await this.#writer.add(deposit)
    this.#batch = undefined
  }

  #readMonth (pool: QuotaScope, month: string): StoredMonthUsage {
    try {
      return this.#months.read(pool, month)
    } catch {
      return { written: '', own: 0, others: 0 }
    }
  }

  async #withFailureHandling<T> (work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      this.#handleFailure(error)
      throw error
    }
  }

  #handleSuccess (): void {
    if (this.#isFailing) this.#options.log.info('the usage ledger can be written again')
    this.#isFailing = false
  }

  #handleFailure (error: unknown): void {
    const { log } = this.#options
    // The name may now belong to another file.
    this.#months.close()
    if (!this.#isFailing) log.warn({ err: error }, 'the usage ledger cannot be written; counts are kept in memory')
    this.#isFailing = true
    if (error instanceof FileFailure && error.aside !== undefined) {
      log.error({ file: error.aside }, 'the usage ledger is damaged and was set aside; a new one was started')
    }
  }
}
