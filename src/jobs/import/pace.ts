import { setTimeout as pause } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { Failure } from '../../envelope/failures.js'
import { maxReferencedRecords } from '../../tenant-guard/writes/references.js'
import { Parallelism } from './parallelism.js'

/** Lines of one transaction, at most and at least while the datastore has errors; and bytes of them. */
export const maxLines = 200
const minLines = 10
export const maxBytes = 2 * 1024 * 1024
/** Other records that a line may refer to; and that the lines of one transaction may, counted for each line. */
export const maxReferences = maxReferencedRecords
/**
 * In milliseconds: how long an error of the datastore may last before the work is given up for now, and the longest and
 * first pause in it.
 */
const timeoutMs = 180_000
const maxWaitMs = 15_000
const firstWaitMs = 100

/** How fast a datastore is written to, by how it takes it. */
export class Throttle {
  readonly #parallelism = new Parallelism()
  readonly #turns = pLimit(this.#parallelism.limit)
  #lines = maxLines
  readonly #conflicts = new Map<number, number>()
  /** When the current errors began, by the clock that only goes forward. */
  #failingSince: number | undefined

  /** Transactions that may be at the datastore at a time. */
  get limit (): number {
    return this.#parallelism.limit
  }

  /**
   * Transactions that may be made ready or under way: one waits, so that it is sent as soon as another one has ended.
   */
  get begun (): number {
    return this.limit + 1
  }

  /** Sends a transaction when it is its turn. */
  async turn<T>(send: () => Promise<T>): Promise<T> {
    return await this.#turns(send)
  }

  /** How much one transaction may hold. */
  get bounds (): { readonly lines: number; readonly bytes: number; readonly references: number } {
    return { lines: this.#lines, bytes: maxBytes, references: maxReferences }
  }

  /** @param lines that were stored together */
  succeeded (lines: number): void {
    this.#failingSince = undefined
    this.#parallelism.succeeded(lines, performance.now())
    this.#turns.concurrency = this.limit
    this.#lines = Math.min(maxLines, Math.ceil(this.#lines * 1.25))
  }

  /** A transaction was refused for one of its lines: smaller ones lose less. */
  refused (): void {
    this.#lines = Math.max(minLines, Math.floor(this.#lines / 2))
  }

  /** Whether a line that somebody else changed at the same moment is to be tried again. */
  mayTryAgain (line: number, max: number): boolean {
    const tries = (this.#conflicts.get(line) ?? 0) + 1
    this.#conflicts.set(line, tries)
    return tries < max
  }

  /** Waits as long as an error of the datastore requests. @throws {Failure} when it lasts too long */
  async wait (
    error: Failure,
    { tries, signal }: { readonly tries: number; readonly signal: AbortSignal }
  ): Promise<void> {
    const now = performance.now()
    this.#failingSince ??= now
    if (now - this.#failingSince > timeoutMs) throw error
    this.#parallelism.pushedBack()
    this.#turns.concurrency = this.limit
    this.refused()
    const request = Number(error.headers['retry-after'] ?? 0) * 1_000
    await pause(Math.min(maxWaitMs, Math.max(request, firstWaitMs * 2 ** Math.min(tries - 1, 10))), undefined, {
      signal
    })
  }
}
