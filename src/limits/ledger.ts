import { randomUUID } from 'node:crypto'
import { readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import Database from 'better-sqlite3'
import type { FastifyBaseLogger } from 'fastify'
import { LedgerBroken, LedgerFile, type Deposit, type MonthCount } from './ledger-file.js'
import { Tally } from './tally.js'
import type { Pool, UsageBatch, UsageReceipt, Use } from './usage.js'

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
export interface LedgerCheck {
  readonly status: 'ok' | 'degraded'
  /** Counts that only the memory holds. */
  readonly linesInMemory: number
  readonly lostRequests: number
  /** Names of ledgers that could not be read; once they are out of the data directory, all is well. */
  readonly broken: readonly string[]
}

/** So many lines go to disk sooner than time would have it. */
const flushedLines = 5_000
/** What gathered while the disk failed is written in parts, so that requests need not wait for all of it. */
const mostAtOnce = 10_000

/**
 * Counts the requests of one gateway: at once in memory, and within half a second on disk, so that a crash takes at most the
 * last second. Whatever the disk does, no request waits for it or fails; what can't be written is kept and tried again.
 */
export class UsageLedger {
  readonly #options: LedgerOptions
  readonly #tally: Tally
  readonly #timer: NodeJS.Timeout
  #file: LedgerFile | undefined
  /** Taken out of the tally, and perhaps on disk. */
  #deposit: Deposit | undefined
  #isFailing = false

  constructor (options: LedgerOptions) {
    const { flushMs = 500, mostLines = 100_000 } = options
    this.#options = options
    this.#tally = new Tally(mostLines)
    this.#timer = setInterval(() => this.flush(), flushMs).unref()
    this.flush()
  }

  /** Counts a request that came in at a time, ISO 8601 in UTC; `times` is more than 1 for an import, whose records count one each. */
  record (use: Use, at: string, times = 1): void {
    this.#tally.add(use, at, times)
    if (this.#tally.size === flushedLines && !this.#isFailing) this.flush()
  }

  /** Puts on disk what is not there. A failure is logged once, and shows in {@link check} as long as it lasts. */
  flush (): void {
    try {
      const file = this.#open()
      if (this.#deposit !== undefined) this.#put(file, this.#deposit)
      if (this.#tally.size > 0) this.#put(file, { name: randomUUID(), lines: this.#tally.take(mostAtOnce) })
      this.#succeed()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** What the control plane is to be given next; undefined when it has everything. @throws when the disk fails */
  nextBatch (): UsageBatch | undefined {
    return this.#work(file => file.nextBatch())
  }

  /** Learns where the control plane stands after a batch was sent. @throws when the disk fails */
  settle (receipt: UsageReceipt): void {
    this.#work(file => file.settle(receipt, this.#options.now()))
  }

  /** What of a pool counted in a month, what is still in memory included; a disk that can't be read counts nothing. */
  monthOf (pool: Pool, month: string): MonthCount {
    const { own, others } = this.#readMonth(pool, month)
    return { own: own + this.#tally.countedIn(pool, month), others }
  }

  /** How the ledger is. */
  check (): LedgerCheck {
    const broken = this.#brokenFiles()
    const isGood = !this.#isFailing && this.#tally.lost === 0 && broken.length === 0
    return { status: isGood ? 'ok' : 'degraded', linesInMemory: this.#linesInMemory(), lostRequests: this.#tally.lost, broken }
  }

  /** Flushes and closes; says in the log what is lost when the disk still fails. */
  close (): void {
    clearInterval(this.#timer)
    do this.flush()
    while (this.#tally.size > 0 && !this.#isFailing)
    if (this.#linesInMemory() > 0) this.#options.log.error({ lines: this.#linesInMemory() }, 'the usage ledger could not be written; what was in memory is lost')
    this.#file?.close()
    this.#file = undefined
  }

  #linesInMemory (): number {
    return this.#tally.size + (this.#deposit?.lines.length ?? 0)
  }

  #put (file: LedgerFile, deposit: Deposit): void {
    this.#deposit = deposit
    file.add(deposit)
    this.#deposit = undefined
  }

  #readMonth (pool: Pool, month: string): MonthCount {
    try {
      return this.#work(file => file.monthOf(pool, month))
    } catch {
      return { own: 0, others: 0 }
    }
  }

  #work<T> (work: (file: LedgerFile) => T): T {
    try {
      return work(this.#open())
    } catch (error) {
      this.#fail(error)
      throw error
    }
  }

  #open (): LedgerFile {
    return (this.#file ??= new LedgerFile(this.#options.file))
  }

  #succeed (): void {
    if (this.#isFailing) this.#options.log.info('the usage ledger is written again')
    this.#isFailing = false
  }

  /** The file is opened anew the next time: only then it shows what of a failed writing is in it. */
  #fail (error: unknown): void {
    this.#file?.close()
    this.#file = undefined
    if (!this.#isFailing) this.#options.log.warn({ err: error }, 'the usage ledger can\'t be written; counts are kept in memory')
    this.#isFailing = true
    if (isBroken(error)) this.#setAside()
  }

  /** Out of the way, and never deleted: it may hold what nobody else has. */
  #setAside (): void {
    const { file, now, log } = this.#options
    const aside = `${file}.broken-${now().toISOString().replaceAll(/\D/g, '')}`
    try {
      renameSync(file, aside)
      for (const suffix of ['-wal', '-shm']) moveOrRemove(file + suffix, aside + suffix)
      log.error({ file: basename(aside) }, 'the usage ledger is broken and was set aside; a new one begins')
    } catch (error) {
      log.error({ err: error }, 'the usage ledger is broken and can\'t be set aside')
    }
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

function isBroken (error: unknown): boolean {
  return error instanceof LedgerBroken || (error instanceof Database.SqliteError && /^SQLITE_(NOTADB|CORRUPT)/.test(error.code))
}

/** What belongs to a file under its old name would be taken for a part of the new one. */
function moveOrRemove (from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch {
    rmSync(from, { force: true })
  }
}
