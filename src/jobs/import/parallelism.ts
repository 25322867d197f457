/** Bounds of {@link Parallelism}: it begins with two at a time. */
const max = 8
const begin = 2

/** How many requests it looks at before it judges: so many for each that is under way, and at the least. */
const lookedAtOfEach = 3
const minLookedAt = 9

/** For how many looks it leaves things as they are after a try that was of no use: at first, and at most. */
const minRest = 4
const maxRest = 32

/** A datastore that became so much faster or slower is tried again. */
const muchChanged = 0.3

/** What one more has to bring at the least, and one less may cost at most, as shares of the rate. */
const worthMore = 0.1
const worthLess = 0.05

/** A try is given up after so few requests when it has less than this share of the rate. */
const minOfTry = 3
const clearlyWorse = 0.8

/**
 * How many requests may be under way: as few as are done as fast as any more would be. More make none faster, and
 * everybody else's requests slower.
 *
 * Now and then it tries one more or one less, and stays with what is better: one more when it brings a tenth, or half
 * of what it brings to a datastore that has room for it; one less when it costs next to nothing.
 */
export class Parallelism {
  /** What is tried now, and what was found best before. */
  #limit = begin
  #best = begin
  /** Records a millisecond with the best, as they were last. */
  #rate = 0
  #step: 1 | -1 = 1
  #rest = 0
  #nextRest = minRest
  #look = newLook()

  get limit (): number {
    return this.#limit
  }

  /**
   * @param records that were stored together
   * @param at when that ended, in milliseconds of a clock that only goes forward
   */
  succeeded (records: number, at: number): void {
    const look = this.#look
    look.ended++
    // The first ones began under another limit.
    if (look.ended <= this.#limit) look.since = at
    else look.records += records
    const rate = look.records / Math.max(at - look.since, 1)
    const isUseless =
      this.#limit !== this.#best && look.ended >= this.#limit + minOfTry && rate < this.#rate * clearlyWorse
    if (isUseless || look.ended >= this.#limit + Math.max(lookedAtOfEach * this.#limit, minLookedAt)) this.#judge(rate)
  }

  /** The datastore asked to be left alone for a while. */
  pushedBack (): void {
    this.#best = within(Math.floor(this.#limit / 2))
    this.#step = 1
    this.#rest = this.#nextRest = minRest
    this.#set(this.#best)
  }

  #judge (rate: number): void {
    if (this.#limit === this.#best) {
      this.#goOn(rate)
    } else if (rate > this.#rate * (this.#step === 1 ? 1 + Math.min(worthMore, 1 / (2 * this.#best)) : 1 - worthLess)) {
      this.#best = this.#limit
      this.#rate = rate
      this.#nextRest = minRest
      this.#try()
    } else {
      this.#turn()
      this.#rest = this.#nextRest
      this.#nextRest = Math.min(maxRest, this.#nextRest * 2)
      this.#set(this.#best)
    }
  }

  #goOn (rate: number): void {
    if (this.#rate > 0 && Math.abs(rate / this.#rate - 1) > muchChanged) {
      this.#rest = Math.min(this.#rest, 1)
      this.#nextRest = minRest
    }
    this.#rate = rate
    if (this.#rest-- > 0) this.#set(this.#best)
    else this.#try()
  }

  #try (): void {
    if (within(this.#best + this.#step) === this.#best) this.#turn()
    this.#set(this.#best + this.#step)
  }

  #turn (): void {
    this.#step = this.#step === 1 ? -1 : 1
  }

  #set (limit: number): void {
    this.#limit = limit
    this.#look = newLook()
  }
}

const newLook = () => ({ ended: 0, records: 0, since: 0 })

const within = (limit: number): number => Math.max(1, Math.min(max, limit))
