/**
 * Takes turn after turn until it is stopped. A turn says how long to wait afterwards, in milliseconds, and does not
 * throw; the wait can be cut short.
 */
export class BackgroundTask {
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>
  #isWoken = false
  #wake = () => {}

  /** Starts at once. */
  constructor (turn: (stopping: AbortSignal) => Promise<number>) {
    this.#running = this.#run(turn)
  }

  /** Lets the next turn come at once, after the present one if there is one. */
  wake (): void {
    this.#isWoken = true
    this.#wake()
  }

  /** Aborts the running turn, waits until it has ended, and starts no other. */
  async stop (): Promise<void> {
    this.#stopping.abort()
    this.#wake()
    await this.#running
  }

  async #run (turn: (stopping: AbortSignal) => Promise<number>): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      this.#isWoken = false
      const pauseMs = await turn(signal)
      if (!this.#isWoken && !signal.aborted) await this.#pause(pauseMs)
    }
  }

  #pause (ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
