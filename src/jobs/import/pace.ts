import { setTimeout as pause } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { Failure } from '../../envelope/failures.js'
import { maxReferencedRecords } from '../../tenant-guard/writes/references.js'

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
  readonly #limiter = pLimit(this.#parallelism.limit)
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
    return await this.#limiter(send)
  }

  /** The current limits of one transaction. */
  get bounds (): { readonly lines: number; readonly bytes: number; readonly references: number } {
    return { lines: this.#lines, bytes: maxBytes, references: maxReferences }
  }

  /** @param lines that were stored together */
  recordSuccess (lines: number): void {
    this.#failingSince = undefined
    this.#parallelism.recordSuccess(lines, performance.now())
    this.#limiter.concurrency = this.limit
    this.#lines = Math.min(maxLines, Math.ceil(this.#lines * 1.25))
  }

  /** A transaction was refused for one of its lines: a smaller one affects fewer other lines. */
  recordRejection (): void {
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
    this.#parallelism.recordError()
    this.#limiter.concurrency = this.limit
    this.recordRejection()
    const retryAfterMs = Number(error.headers['retry-after'] ?? 0) * 1_000
    await pause(Math.min(maxWaitMs, Math.max(retryAfterMs, firstWaitMs * 2 ** Math.min(tries - 1, 10))), undefined, {
      signal
    })
  }
}

/** The maximum and the first limit of {@link Parallelism}. */
const maxParallel = 8
const firstParallel = 2

/** How many requests it measures before it decides: so many per concurrent request, and the minimum. */
const samplesPerRequest = 3
const minSamples = 9

/** The number of measurements for which the limit stays unchanged after a test without gain: at first, and at most. */
const minRest = 4
const maxRest = 32

/** A change of the rate by this share starts a new test soon. */
const significantChange = 0.3

/** The minimum gain of one request more, and the maximum loss of one less, as shares of the rate. */
const minGain = 0.1
const maxLoss = 0.05

/** A test ends after this many requests if its rate is below this share of the best one. */
const minTrialSamples = 3
const abortRatio = 0.8

/**
 * Finds the number of concurrent requests: the minimum that reaches the maximum rate. More would not be faster, and
 * would slow down other clients' requests. From time to time it tries one more or one less, and stays with the better
 * limit: one more if the gain is a tenth, or half of what it brings to a datastore that has capacity for it; one less
 * if the loss is negligible.
 */
export class Parallelism {
  /** The current limit, and the best one found so far. */
  #limit = firstParallel
  #best = firstParallel
  /** The last rate at the best limit, in records per millisecond. */
  #rate = 0
  #step: 1 | -1 = 1
  #rest = 0
  #nextRest = minRest
  #measurement = createMeasurement()

  get limit (): number {
    return this.#limit
  }

  /**
   * @param records number of records stored together
   * @param at when that ended, in milliseconds of a monotonic clock
   */
  recordSuccess (records: number, at: number): void {
    const look = this.#measurement
    look.ended++
    // The first requests began under another limit.
    if (look.ended <= this.#limit) look.since = at
    else look.records += records
    const rate = look.records / Math.max(at - look.since, 1)
    const isUseless =
      this.#limit !== this.#best && look.ended >= this.#limit + minTrialSamples && rate < this.#rate * abortRatio
    if (isUseless || look.ended >= this.#limit + Math.max(samplesPerRequest * this.#limit, minSamples)) {
      this.#decide(rate)
    }
  }

  /** The datastore had an error: halves the limit. */
  recordError (): void {
    this.#best = clampLimit(Math.floor(this.#limit / 2))
    this.#step = 1
    this.#rest = this.#nextRest = minRest
    this.#setLimit(this.#best)
  }

  #decide (rate: number): void {
    if (this.#limit === this.#best) {
      this.#continueAtBest(rate)
    } else if (rate > this.#rate * (this.#step === 1 ? 1 + Math.min(minGain, 1 / (2 * this.#best)) : 1 - maxLoss)) {
      this.#best = this.#limit
      this.#rate = rate
      this.#nextRest = minRest
      this.#startTrial()
    } else {
      this.#reverseStep()
      this.#rest = this.#nextRest
      this.#nextRest = Math.min(maxRest, this.#nextRest * 2)
      this.#setLimit(this.#best)
    }
  }

  #continueAtBest (rate: number): void {
    if (this.#rate > 0 && Math.abs(rate / this.#rate - 1) > significantChange) {
      this.#rest = Math.min(this.#rest, 1)
      this.#nextRest = minRest
    }
    this.#rate = rate
    if (this.#rest-- > 0) this.#setLimit(this.#best)
    else this.#startTrial()
  }

  #startTrial (): void {
    if (clampLimit(this.#best + this.#step) === this.#best) this.#reverseStep()
    this.#setLimit(this.#best + this.#step)
  }

  #reverseStep (): void {
    this.#step = this.#step === 1 ? -1 : 1
  }

  #setLimit (limit: number): void {
    this.#limit = limit
    this.#measurement = createMeasurement()
  }
}

const createMeasurement = () => ({ ended: 0, records: 0, since: 0 })

const clampLimit = (limit: number): number => Math.max(1, Math.min(maxParallel, limit))
