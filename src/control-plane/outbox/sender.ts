import type { FastifyBaseLogger } from 'fastify'
import { getJitteredBackoffMs } from '../../time/backoff.js'
import { BackgroundTask } from '../../time/background-task.js'
import { countLines, type BatchAck, type NumberedBatch, type SendBatch } from './batch.js'

const pauses = { firstMs: 500, maxMs: 60_000 }

/** The source and the destination of a sender's batches. */
interface BatchSenderParts<Line, Ack extends BatchAck> {
  /** The name of the sent data, for the log: `usage`. */
  readonly what: string
  readonly ledger: {
    readonly nextBatch: () => Promise<NumberedBatch<Line> | undefined>
    readonly settle: (receipt: Ack) => Promise<void>
  }
  readonly send: SendBatch<Line, Ack>
  /** The lines of a full batch, after which the next one is sent at once. */
  readonly linesPerBatch: number
  /** Called with each receipt, once the ledger has stored it. */
  readonly onSettled?: (receipt: Ack) => void
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn'>
  /** The interval between batches, in milliseconds. */
  readonly everyMs?: number
  /** How long to wait for the receipt of a batch, in milliseconds. */
  readonly timeoutMs?: number
}

/**
 * Sends every batch of a file to the control plane, one at a time and in order. Retries after any failure until it is
 * stopped.
 */
export class BatchSender<Line, Ack extends BatchAck> {
  readonly #parts: Required<BatchSenderParts<Line, Ack>>
  readonly #loop: BackgroundTask
  #failures = 0

  /** Starts immediately. */
  constructor (parts: BatchSenderParts<Line, Ack>) {
    this.#parts = { everyMs: 2_000, timeoutMs: 30_000, onSettled: () => {}, ...parts }
    this.#loop = new BackgroundTask(stopping => this.#sendNext(stopping))
  }

  /** The number of failures since the last success. */
  get failures (): number {
    return this.#failures
  }

  /** Sends what there is now instead of at the next interval. */
  wake (): void {
    this.#loop.wake()
  }

  /** Stops sending. Unsent batches stay in the ledger, which may be closed afterwards. */
  stop (): Promise<void> {
    return this.#loop.stop()
  }

  /** @returns how long to wait afterwards, in milliseconds */
  async #sendNext (stopping: AbortSignal): Promise<number> {
    const { what, ledger, send, linesPerBatch, onSettled, log, everyMs, timeoutMs } = this.#parts
    try {
      const batch = await ledger.nextBatch()
      if (batch === undefined) return everyMs
      const receipt = await send(batch, AbortSignal.any([stopping, AbortSignal.timeout(timeoutMs)]))
      await ledger.settle(receipt)
      onSettled(receipt)
      if (receipt.number !== batch.number || receipt.batchId !== batch.batchId) {
        throw new Error(`the control plane is at batch ${receipt.number}, not at ${batch.number}`)
      }
      if (this.#failures > 0) log.info(`${what} can be sent to the control plane again`)
      this.#failures = 0
      return countLines(batch) < linesPerBatch ? everyMs : 0
    } catch (error) {
      if (stopping.aborted) return 0
      if (this.#failures === 0) {
        log.warn({ err: error }, `${what} cannot be sent to the control plane; the gateway keeps it`)
      }
      return getJitteredBackoffMs(pauses, this.#failures++)
    }
  }
}
