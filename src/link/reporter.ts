import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'

/** What is told, to whom and how often. */
export interface ReporterParts {
  /** Makes a report of the present moment and sends it. */
  readonly report: () => Promise<void>
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn'>
  readonly everyMs?: number
  /** The shortest time between two reports. */
  readonly gapMs?: number
}

/** Sends a report every few seconds, and at once when there is news; one at a time, so that none queue up, and through any failure. */
export class Reporter {
  readonly #parts: Required<ReporterParts>
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>
  #hasNews = false
  #wake = () => {}
  #isFailing = false

  /** Starts at once. */
  constructor (parts: ReporterParts) {
    this.#parts = { everyMs: 5_000, gapMs: 100, ...parts }
    this.#running = this.#run()
  }

  /** Says that there is news. */
  tell (): void {
    this.#hasNews = true
    this.#wake()
  }

  /** Ends reporting; does not wait for an answer that is under way. */
  async close (): Promise<void> {
    this.#stopping.abort()
    this.#wake()
    await this.#running
  }

  async #run (): Promise<void> {
    const { signal } = this.#stopping
    const stopped = new Promise<void>(resolve => { signal.addEventListener('abort', () => resolve()) })
    while (!signal.aborted) {
      this.#hasNews = false
      await Promise.race([this.#report(), stopped])
      await pause(this.#parts.gapMs, undefined, { signal }).catch(() => {})
      if (!signal.aborted) await this.#news()
    }
  }

  async #report (): Promise<void> {
    try {
      await this.#parts.report()
      if (this.#isFailing) this.#parts.log.info('the control plane takes reports again')
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing && !this.#stopping.signal.aborted) this.#parts.log.warn({ err: error }, 'the control plane takes no report; requests are served all the same')
      this.#isFailing = true
    }
  }

  /** Resolves with the next news, or when it is time for a report without any. */
  #news (): Promise<void> {
    return new Promise(resolve => {
      if (this.#hasNews) return resolve()
      const timer = setTimeout(resolve, this.#parts.everyMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
