import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { Loop } from '../loop.js'

/** What is told, to whom and how often. */
interface ReporterParts {
  /** Makes a report of the present moment and sends it; ends soon after the signal aborts. */
  readonly report: (stopping: AbortSignal) => Promise<void>
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn'>
  readonly everyMs?: number
  /** The shortest time between two reports. */
  readonly gapMs?: number
}

/** Sends a report every few seconds, and at once when there is news; one at a time, so that none queue up, and through any failure. */
export class Reporter {
  readonly #parts: Required<ReporterParts>
  readonly #loop: Loop
  #isFailing = false

  /** Starts at once. */
  constructor (parts: ReporterParts) {
    this.#parts = { everyMs: 5_000, gapMs: 100, ...parts }
    this.#loop = new Loop(stopping => this.#turn(stopping))
  }

  /** Says that there is news. */
  tell (): void {
    this.#loop.wake()
  }

  /** Ends reporting: a report that is under way is broken off, and nothing of it goes on afterwards. */
  close (): Promise<void> {
    return this.#loop.stop()
  }

  async #turn (stopping: AbortSignal): Promise<number> {
    const { everyMs, gapMs } = this.#parts
    await this.#report(stopping)
    await pause(gapMs, undefined, { signal: stopping }).catch(() => {})
    return everyMs
  }

  async #report (stopping: AbortSignal): Promise<void> {
    const { report, log } = this.#parts
    try {
      await report(stopping)
      if (this.#isFailing) log.info('the control plane accepts reports again')
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing && !stopping.aborted) log.warn({ err: error }, 'the control plane does not accept reports; requests are still served')
      this.#isFailing = true
    }
  }
}
