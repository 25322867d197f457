import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { FastifyBaseLogger } from 'fastify'
import type { Health } from '../../health.js'
import type { Deposit } from './file.js'
import { LedgerFailure } from './messages.js'
import { LedgerMonths, type MonthCount, type WrittenMonth } from './months.js'
import { LedgerWriter } from './writer.js'
import { countedIn, Tally } from './tally.js'
import type { Pool, UsageBatch, UsageReceipt, Use } from '../usage.js'

/** What the ledger of a gateway needs; `now` is the wall clock. */
export interface LedgerOptions {
  readonly file: string
  readonly now: () => Date
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>
  /** How long a count may be in memory alone, in milliseconds. */
  readonly flushMs?: number
  /** How many lines are held in memory while the disk does not take them. */
  readonly mostLines?: number
}

/** How the ledger is: `lostRequests` found no room in memory while the disk failed, and are counted nowhere. */
interface LedgerCheck {
  readonly status: Health
  /** Counts that only the memory holds. */
  readonly linesInMemory: number
  readonly lostRequests: number
  /** Names of ledgers that could not be read; once they are out of the data directory, all is well. */
  readonly broken: readonly string[]
}

/** So many lines go to disk sooner than time would have it. */
const flushedLines = 5_000
/** What gathered while the disk failed is handed over in parts, for that takes a moment of this thread. */
const mostAtOnce = 10_000

/**
 * Counts the requests of one gateway: at once in memory, and within half a second on disk, so that a crash takes at most the
 * last second. Whatever the disk does, no request waits for it or fails; what can't be written is kept and tried again.
 */
export class UsageLedger {
  readonly #options: LedgerOptions
  readonly #tally: Tally
  readonly #timer: NodeJS.Timeout
  readonly #writer: LedgerWriter
  readonly #months: LedgerMonths
  /** Taken out of the tally, and perhaps on disk. */
  #deposit: Deposit | undefined
  #isFailing = false
  #writing = Promise.resolve()
  #next: Promise<void> | undefined
  #closing: Promise<void> | undefined

  /** Resolves when it is known whether the file can be written; then it shows in {@link check}. */
  readonly opened: Promise<void>

  constructor (options: LedgerOptions) {
    const { file, now, flushMs = 500, mostLines = 100_000 } = options
    this.#options = options
    this.#tally = new Tally(mostLines)
    this.#writer = new LedgerWriter(file, now)
    this.#months = new LedgerMonths(file)
    this.#timer = setInterval(() => this.flush(), flushMs).unref()
    this.opened = this.flush()
  }

  /** Counts a request that came in at a time, ISO 8601 in UTC, or one record of an import. */
  record (use: Use, at: string): void {
    this.#tally.add(use, at)
    if (this.#tally.size === flushedLines && !this.#isFailing) this.flush()
  }

  /** Puts on disk what is not there, and resolves also when that failed: a failure is logged once, and shows in {@link check} as long as it lasts. */
  flush (): Promise<void> {
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined
      this.#writing = this.#write()
      return this.#writing
    })
    return this.#next
  }

  /** What the control plane is to be given next; undefined when it has everything. @throws {LedgerFailure} */
  nextBatch (): Promise<UsageBatch | undefined> {
    return this.#noticed(this.#writer.nextBatch())
  }

  /** Learns where the control plane stands after a batch was sent. @throws {LedgerFailure} */
  settle (receipt: UsageReceipt): Promise<void> {
    return this.#noticed(this.#writer.settle(receipt))
  }

  /** What of a pool counted in a month, what is still in memory included; a disk that can't be read counts nothing. */
  monthOf (pool: Pool, month: string): MonthCount {
    const { written, own, others } = this.#readMonth(pool, month)
    const onItsWay = this.#deposit === undefined || this.#deposit.name === written ? 0 : countedIn(this.#deposit.lines, pool, month)
    return { own: own + onItsWay + this.#tally.countedIn(pool, month), others }
  }

  /** How the ledger is. */
  check (): LedgerCheck {
    const broken = this.#brokenFiles()
    const isGood = !this.#isFailing && this.#tally.lost === 0 && broken.length === 0
    return { status: isGood ? 'ok' : 'degraded', linesInMemory: this.#linesInMemory(), lostRequests: this.#tally.lost, broken }
  }

  /** Flushes and closes; says in the log what is lost when the disk still fails. */
  close (): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close (): Promise<void> {
    clearInterval(this.#timer)
    do await this.flush()
    while (this.#tally.size > 0 && !this.#isFailing)
    if (this.#linesInMemory() > 0) this.#options.log.error({ lines: this.#linesInMemory() }, 'the usage ledger could not be written; counts in memory are lost')
    // Before the writer, which puts everything into the one file as the last one that has it open.
    this.#months.close()
    await this.#writer.close()
  }

  #linesInMemory (): number {
    return this.#tally.size + (this.#deposit?.lines.length ?? 0)
  }

  async #write (): Promise<void> {
    try {
      await this.#writer.open()
      if (this.#deposit !== undefined) await this.#put(this.#deposit)
      if (this.#tally.size > 0) await this.#put({ name: randomUUID(), lines: this.#tally.take(mostAtOnce) })
      this.#succeed()
    } catch (error) {
      this.#fail(error)
    }
  }

  async #put (deposit: Deposit): Promise<void> {
    this.#deposit = deposit
    await this.#writer.add(deposit)
    this.#deposit = undefined
  }

  #readMonth (pool: Pool, month: string): WrittenMonth {
    try {
      return this.#months.read(pool, month)
    } catch {
      return { written: '', own: 0, others: 0 }
    }
  }

  async #noticed<T> (work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      this.#fail(error)
      throw error
    }
  }

  #succeed (): void {
    if (this.#isFailing) this.#options.log.info('the usage ledger can be written again')
    this.#isFailing = false
  }

  #fail (error: unknown): void {
    const { log } = this.#options
    // Perhaps another file has its name now.
    this.#months.close()
    if (!this.#isFailing) log.warn({ err: error }, 'the usage ledger cannot be written; counts are kept in memory')
    this.#isFailing = true
    if (error instanceof LedgerFailure && error.aside !== undefined) log.error({ file: error.aside }, 'the usage ledger is damaged and was set aside; a new one was started')
  }

  #brokenFiles (): readonly string[] {
    const { file } = this.#options
    try {
      return readdirSync(dirname(file)).filter(name => name.startsWith(`${basename(file)}.broken-`) && !/-(wal|shm)$/.test(name))
    } catch {
      return []
    }
  }
}
