/** A reason to send requests elsewhere, for as long as it returns `true`. */
type Obstacle = () => boolean

/** Whether a load balancer should send requests to this process: it can serve them, and is not about to end. */
export class Readiness {
  readonly #obstacles: Obstacle[] = []
  #isLeaving = false

  /** Adds a reason not to be ready, which is asked each time. */
  unless (obstacle: Obstacle): void {
    this.#obstacles.push(obstacle)
  }

  /** From now on the process is not ready, for good. */
  leave (): void {
    this.#isLeaving = true
  }

  /** Whether the process is about to end. Requests that still arrive are answered. */
  get isLeaving (): boolean {
    return this.#isLeaving
  }

  /** Whether requests should be sent here. */
  get isReady (): boolean {
    return !this.#isLeaving && !this.#obstacles.some(isTrue => isTrue())
  }
}
