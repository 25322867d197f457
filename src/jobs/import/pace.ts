import { setTimeout as pause } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { Failure } from '../../envelope/failures.js'
import { maxReferencedRecords } from '../../tenant-guard/writes/references.js'
import { Parallelism } from './parallelism.js'

/** The maximum lines of one transaction, the minimum while the datastore has errors, and the maximum bytes. */
export const maxLines = 200
const minLines = 10
export const maxBytes = 2 * 1024 * 1024
/** Maximum number of other records that a line may refer to; and of references in one transaction. */
export const maxReferences = maxReferencedRecords
/**
 * In milliseconds: how long datastore errors may last before the work is given up for now, and the maximum and first
 * pause during them.
 */
const timeoutMs = 180_000
const maxWaitMs = 15_000
const firstWaitMs = 100

/** Adapts the write rate to what the datastore can take. */
export class Throttle {
  readonly #parallelism = new Parallelism()
  readonly #turns = pLimit(this.#parallelism.limit)
  #lines = maxLines
  readonly #conflicts = new Map<number, number>()
  /** When the current errors began, by the monotonic clock. */
  #failingSince: number | undefined

  /** Maximum number of concurrent transactions at the datastore. */
  get limit (): number {
    return this.#parallelism.limit
  }

  /** Transactions that may be in preparation or under way: one waits, to be sent as soon as another ends. */
  get begun (): number {
    return this.limit + 1
  }

  /** Sends a transaction when the limit permits. */
  async turn<T>(send: () => Promise<T>): Promise<T> {
    return await this.#turns(send)
  }

  /** The current limits of one transaction. */
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

  /** A transaction was refused for one of its lines: a smaller one affects fewer other lines. */
  refused (): void {
    this.#lines = Math.max(minLines, Math.floor(this.#lines / 2))
  }

  /** Whether to retry a line whose record another client changed concurrently. */
  mayTryAgain (line: number, max: number): boolean {
    const tries = (this.#conflicts.get(line) ?? 0) + 1
    this.#conflicts.set(line, tries)
    return tries < max
  }

  /** Waits as long as an error of the datastore requires. @throws {Failure} when the errors last too long */
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
