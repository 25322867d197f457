/** Bounds of {@link Parallelism}: it begins with two at a time. */
const most = 8
const begin = 2

/** The share of its time that a request waits for others at the datastore: with less, one more is sent; with more, one less. */
const tooLittle = 0.2
const tooMuch = 0.45

/**
 * How many requests may be under way: as many as the datastore works on at a time, and one or two that wait for their turn. More
 * would make none faster, and everybody else's requests slower.
 *
 * How long each waits is told by how much longer it takes than when few were under way, as TCP Vegas does it
 * (https://doi.org/10.1145/190314.190317).
 */
export class Parallelism {
  #limit = begin
  /** Of those that ended since the limit was changed. */
  #ended = 0
  #milliseconds = 0
  /** What one takes when none waits. */
  #unhindered = Infinity

  get limit (): number {
    return this.#limit
  }

  /** @param milliseconds that a record took, as one of those that were sent together */
  succeeded (milliseconds: number): void {
    // The first ones began under another limit.
    if (++this.#ended > this.#limit) this.#milliseconds += milliseconds
    if (this.#ended < 3 * this.#limit) return
    const usual = this.#milliseconds / (2 * this.#limit)
    // One alone waits for none: if it takes longer than ever before, the datastore has become slower.
    this.#unhindered = this.#limit === 1 ? usual : Math.min(this.#unhindered, usual)
    const waiting = 1 - this.#unhindered / usual
    if (waiting < tooLittle) this.#set(this.#limit + 1)
    else if (waiting > tooMuch) this.#set(this.#limit - 1)
    else this.#set(this.#limit)
  }

  /** The datastore asked to be left alone for a while. */
  pushedBack (): void {
    this.#set(Math.floor(this.#limit / 2))
  }

  #set (limit: number): void {
    this.#limit = Math.max(1, Math.min(most, limit))
    this.#ended = 0
    this.#milliseconds = 0
  }
}
