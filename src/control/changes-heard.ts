/** How one listener hears that the control database was changed, by this process or another one. */
export interface ChangesHeard {
  /**
   * Resolves when there may be something new since it last resolved, or since the listening began, and after this time at
   * the latest. Whoever begins to listen and then looks misses nothing. Rejects when the signal is aborted.
   */
  next (signal: AbortSignal, withinMs: number): Promise<void>
  /** Ends the listening. */
  close (): void
}

/** Where the word of a change comes from; it may be wrong, but none is missed for long. */
export interface ChangeSource {
  /** Begins to tell of changes, at the latest with the first one after this call. */
  start (tell: () => void): void
  /** Ends the telling and lets go of what it took. */
  close (): Promise<void>
}

/** Brings the word of a change to all listeners of a process; the source is not troubled before there is one. */
export class ChangeBell {
  readonly #source: ChangeSource
  readonly #ears = new Set<Ear>()
  #isStarted = false

  constructor (source: ChangeSource) {
    this.#source = source
  }

  /** Begins to listen. */
  listen (): ChangesHeard {
    const ear = new Ear(() => this.#ears.delete(ear))
    this.#ears.add(ear)
    if (!this.#isStarted) this.#source.start(() => { for (const each of this.#ears) each.hear() })
    this.#isStarted = true
    return ear
  }

  /** Closes the source. */
  close (): Promise<void> {
    return this.#source.close()
  }
}

/** Keeps in mind what was heard while nobody waited. */
class Ear implements ChangesHeard {
  readonly close: () => void
  #hasHeard = false
  #wake = (): void => {}

  constructor (close: () => void) {
    this.close = close
  }

  hear (): void {
    this.#hasHeard = true
    this.#wake()
  }

  async next (signal: AbortSignal, withinMs: number): Promise<void> {
    signal.throwIfAborted()
    if (!this.#hasHeard) await this.#wait(signal, withinMs)
    this.#hasHeard = false
  }

  #wait (signal: AbortSignal, withinMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const settledBy = (settle: () => void) => () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', stop)
        settle()
      }
      const stop = settledBy(() => reject(signal.reason))
      this.#wake = settledBy(resolve)
      const timer = setTimeout(this.#wake, withinMs)
      signal.addEventListener('abort', stop)
    })
  }
}
