import { setTimeout as pause } from 'node:timers/promises'
import type { Failure } from '../../envelope/failures.js'
import { Parallelism } from './parallelism.js'

/** Lines of one transaction, at most and at least while the datastore has trouble; and bytes of them. */
const mostLines = 200
const fewestLines = 10
const mostBytes = 2 * 1024 * 1024
/** Trouble that lasts so long, in milliseconds, is no moment's; and the longest single wait. */
const patienceMs = 180_000
const longestWaitMs = 15_000
const firstWaitMs = 100

/** How fast a datastore is written to, by how it takes it. */
export class Pace {
  readonly #parallelism = new Parallelism()
  #lines = mostLines
  readonly #conflicts = new Map<number, number>()
  /** When the trouble began that there is, by the clock that only goes forward. */
  #troubleSince: number | undefined

  /** Transactions that may be under way. */
  get limit (): number {
    return this.#parallelism.limit
  }

  /** How much one transaction may hold. */
  get bounds (): { readonly lines: number, readonly bytes: number } {
    return { lines: this.#lines, bytes: mostBytes }
  }

  /** @param lines that were stored together, in so many milliseconds */
  succeeded (lines: number, milliseconds: number): void {
    this.#troubleSince = undefined
    this.#parallelism.succeeded(milliseconds / lines)
    this.#lines = Math.min(mostLines, Math.ceil(this.#lines * 1.25))
  }

  /** A transaction was refused for one of its lines: smaller ones lose less. */
  refused (): void {
    this.#lines = Math.max(fewestLines, Math.floor(this.#lines / 2))
  }

  /** Whether a line that somebody else changed at the same moment is to be tried again. */
  mayTryAgain (line: number, most: number): boolean {
    const tries = (this.#conflicts.get(line) ?? 0) + 1
    this.#conflicts.set(line, tries)
    return tries < most
  }

  /** Waits as long as trouble with the datastore asks for. @throws {Failure} when it lasts too long */
  async wait (trouble: Failure, { tries, signal }: { readonly tries: number, readonly signal: AbortSignal }): Promise<void> {
    const now = performance.now()
    this.#troubleSince ??= now
    if (now - this.#troubleSince > patienceMs) throw trouble
    this.#parallelism.pushedBack()
    this.refused()
    const asked = Number(trouble.headers['retry-after'] ?? 0) * 1_000
    await pause(Math.min(longestWaitMs, Math.max(asked, firstWaitMs * 2 ** Math.min(tries - 1, 10))), undefined, { signal })
  }
}
