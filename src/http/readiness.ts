/** A reason to send requests elsewhere, for as long as it returns `true`. */
type Obstacle = () => boolean

/** Whether a load balancer should send requests to this process: it can serve them, and is not about to end. */
export class Readiness {
  readonly #obstacles: Obstacle[] = []
  #isShuttingDown = false

  /** Adds a reason not to be ready, which is evaluated at each call. */
  addBlocker (obstacle: Obstacle): void {
    this.#obstacles.push(obstacle)
  }

  /** From now on the process is not ready, permanently. */
  beginShutdown (): void {
    this.#isShuttingDown = true
  }

  /** Whether the process is about to end. Requests that still arrive get a response. */
  get isShuttingDown (): boolean {
    return this.#isShuttingDown
  }

  /** Whether requests should be sent here. */
  get isReady (): boolean {
    return !this.#isShuttingDown && !this.#obstacles.some(isTrue => isTrue())
  }
}
