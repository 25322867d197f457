import type { FastifyBaseLogger } from 'fastify'
import { AuditFile, type AuditFileOptions } from './audit-file.js'
import type { ChainEntry } from './chain.js'
import type { AuditEntry, AuditGap, AuditBacklogEntry } from './entry.js'

/** The options of a log. */
interface AuditLogOptions extends AuditFileOptions {
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>
  /** Lines that wait in memory for the disk, at most. */
  readonly maxWaiting?: number
  /** How long after a failure the disk is tried again, in milliseconds. */
  readonly retryMs?: number
}

interface QueuedEntry {
  readonly entry: AuditEntry | AuditBacklogEntry
  readonly confirm: (link: ChainEntry) => void
  readonly fail: (error: unknown) => void
}

/** Lines that are written together: those that came while others were being written. */
const maxAtOnce = 1_000

/**
 * The access audit log of one process. Lines are written in the order in which they arrive, many with one sync of the
 * disk. Lines that the disk does not accept stay in memory within bounds and are tried again; those beyond the bounds
 * are discarded, and a line says how many.
 */
export class AuditLog {
  readonly #options: Required<AuditLogOptions>
  readonly #file: AuditFile
  #waiting: QueuedEntry[] = []
  #writing: Promise<void> | undefined
  #retry: NodeJS.Timeout | undefined
  #isFailing = false
  #lines = 0
  #lost = 0
  #unreported = 0

  private constructor (options: AuditLogOptions, file: AuditFile) {
    this.#options = { maxWaiting: 10_000, retryMs: 1_000, ...options }
    this.#file = file
  }

  /** @throws {Error} when the file can't be written, or is not a log */
  static async open (options: AuditLogOptions): Promise<AuditLog> {
    return new AuditLog(options, await AuditFile.open(options))
  }

  /** Whether the disk did not accept the last lines. */
  get isFailing (): boolean {
    return this.#isFailing
  }

  /** Lines on the disk since the start, lines discarded, and whether the disk failed. */
  get counts (): { readonly lines: number, readonly lost: number, readonly isFailing: boolean } {
    return { lines: this.#lines, lost: this.#lost, isFailing: this.#isFailing }
  }

  /**
   * Resolves when the line is on the disk. If it rejects, the line may still be written later.
   * @param onWritten called when the line is on the disk, then or later
   */
  add (entry: AuditEntry | AuditBacklogEntry, onWritten: (link: ChainEntry) => void = () => {}): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length >= this.#options.maxWaiting) {
        this.#lost++
        this.#unreported++
        return reject(new Error('too many lines are waiting for the disk'))
      }
      const confirm = (link: ChainEntry) => {
        resolve()
        onWritten(link)
      }
      this.#waiting.push({ entry, confirm, fail: reject })
      if (this.#isFailing) reject(new Error('the disk failed'))
      else this.#begin()
    })
  }

  /** Writes the waiting lines, until the disk accepts no more. */
  async close (): Promise<void> {
    clearTimeout(this.#retry)
    await this.#writing
    this.#begin()
    await this.#writing
    clearTimeout(this.#retry)
    if (this.#waiting.length > 0) {
      this.#options.log.error(
        { lines: this.#waiting.length },
        'the access audit log could not be written; lines in memory are lost'
      )
    }
    await this.#file.close()
  }

  #begin (): void {
    this.#writing ??= this.#writeAll()
  }

  async #writeAll (): Promise<void> {
    // Lines of this turn of the event loop are written together.
    await undefined
    try {
      while (this.#waiting.length > 0) await this.#writeNext()
    } catch (error) {
      this.#handleFailure(error)
    } finally {
      // Synchronously, so that no line arrives between the last check and the end.
      this.#writing = undefined
    }
  }

  async #writeNext (): Promise<void> {
    const batch = this.#waiting.slice(0, maxAtOnce)
    const gap = this.#buildGap(batch[0]!.entry.time)
    const links = await this.#file.add([...gap, ...batch.map(({ entry }) => entry)])
    this.#waiting = this.#waiting.slice(batch.length)
    this.#handleSuccess(batch, links.slice(gap.length))
  }

  #buildGap (time: string): AuditGap[] {
    return this.#unreported === 0 ? [] : [{ time, action: 'gap', records: this.#unreported }]
  }

  #handleSuccess (batch: readonly QueuedEntry[], links: readonly ChainEntry[]): void {
    if (this.#isFailing) this.#options.log.info('the access audit log can be written again')
    this.#isFailing = false
    this.#lines += batch.length
    this.#unreported = 0
    for (const [at, { confirm }] of batch.entries()) confirm(links[at]!)
  }

  #handleFailure (error: unknown): void {
    if (!this.#isFailing) this.#options.log.error({ err: error }, 'the access audit log cannot be written')
    this.#isFailing = true
    for (const { fail } of this.#waiting) fail(error)
    this.#retry = setTimeout(() => this.#begin(), this.#options.retryMs).unref()
  }
}
