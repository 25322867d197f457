/** Bounds of {@link Parallelism}: it begins with two at a time. */
const most = 8
const begin = 2

/** Weight of the last measure in a smoothed one. */
const weight = 0.2
/** So much slower than ever before, the datastore has too much to do. */
const tooSlow = 4

/**
 * How many requests may be under way: one more when as many went well, fewer by half when the datastore pushes back, and a
 * quarter fewer when each takes much longer than it did.
 */
export class Parallelism {
  #limit = begin
  #succeeded = 0
  #smoothed: number | undefined
  #best = Infinity

  get limit (): number {
    return Math.floor(this.#limit)
  }

  /** @param milliseconds that a record took, as one of those that were sent together */
  succeeded (milliseconds: number): void {
    this.#smoothed = this.#smoothed === undefined ? milliseconds : this.#smoothed * (1 - weight) + milliseconds * weight
    this.#best = Math.min(this.#best, this.#smoothed)
    if (this.#smoothed > tooSlow * this.#best) return this.#slowDown()
    if (++this.#succeeded < this.limit) return
    this.#succeeded = 0
    this.#limit = Math.min(most, this.#limit + 1)
  }

  /** The datastore asked to be left alone for a while. */
  pushedBack (): void {
    this.#succeeded = 0
    this.#limit = Math.max(1, this.#limit / 2)
  }

  #slowDown (): void {
    this.#succeeded = 0
    this.#limit = Math.max(1, this.#limit * 0.75)
    // What is usual now, so that a datastore which stays slow isn't asked less and less.
    this.#best = this.#smoothed! / 2
  }
}
