/** A question whose answer `true` means that requests are better sent elsewhere. */
type Obstacle = () => boolean

/** Whether a load balancer should send requests to this process: it can serve them, and is not about to end. */
export class Readiness {
  readonly #obstacles: Obstacle[] = []
  #isLeaving = false

  /** Asks this, too, whenever the readiness is asked for. */
  unless (obstacle: Obstacle): void {
    this.#obstacles.push(obstacle)
  }

  /** From now on it is not ready; there is no way back. */
  leave (): void {
    this.#isLeaving = true
  }

  /** Whether the process is about to end. What it is still asked is answered. */
  get isLeaving (): boolean {
    return this.#isLeaving
  }

  /** Whether nothing stands against sending requests here. */
  get isReady (): boolean {
    return !this.#isLeaving && !this.#obstacles.some(isTrue => isTrue())
  }
}
