import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { BackgroundTask } from '../../time/background-task.js'

/** How to report, and how often. */
interface ReporterParts {
  /** Creates and sends a report of the present state. Settles soon after the signal aborts. */
  readonly report: (stopping: AbortSignal) => Promise<void>
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn'>
  readonly everyMs?: number
  /** The minimum time between two reports. */
  readonly gapMs?: number
}

/**
 * Sends a report every few seconds, and immediately after a change. There is one report at a time. Failures do not stop
 * it.
 */
export class Reporter {
  readonly #parts: Required<ReporterParts>
  readonly #loop: BackgroundTask
  #isFailing = false

  /** Starts immediately. */
  constructor (parts: ReporterParts) {
    this.#parts = { everyMs: 5_000, gapMs: 100, ...parts }
    this.#loop = new BackgroundTask(stopping => this.#turn(stopping))
  }

  /** To be called after a change. */
  report (): void {
    this.#loop.wake()
  }

  /** Stops reporting and aborts a report in progress. Resolves when nothing is running any more. */
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
      if (!this.#isFailing && !stopping.aborted) {
        log.warn({ err: error }, 'the control plane does not accept reports; requests are still served')
      }
      this.#isFailing = true
    }
  }
}
