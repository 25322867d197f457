import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { FlushBatch } from './file.js'
import { LedgerFailure, type LedgerResponse, type LedgerRequest } from './messages.js'
import { linesPerBatch, type UsageBatch, type UsageAck } from '../usage.js'

/** The compiled file, also in tests: loading TypeScript would take a second in each thread. */
const thread = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/limits/usage-ledger/thread.js' : './thread.js',
  import.meta.url
)

interface Waiting { readonly resolve: (value: never) => void, readonly reject: (error: LedgerFailure) => void }

/**
 * Writes a ledger's file in a separate thread, so that no request waits while the disk syncs. Calls run in order.
 * If the thread has ended, the next call starts a new one.
 */
export class LedgerWriter {
  readonly #path: string
  readonly #now: () => Date
  readonly #waiting: Waiting[] = []
  #thread: Worker | undefined

  /** `now` is the wall clock. */
  constructor (path: string, now: () => Date) {
    this.#path = path
    this.#now = now
  }

  /** Checks that the file is usable. @throws {LedgerFailure} like all methods */
  open (): Promise<void> {
    return this.#send({ name: 'open', args: [], now: this.#now() })
  }

  /** Resolves when the lines are on disk. A flush that was already written is ignored. */
  add (deposit: FlushBatch): Promise<void> {
    return this.#send({ name: 'add', args: [deposit], now: this.#now() })
  }

  nextBatch (): Promise<UsageBatch | undefined> {
    return this.#send({ name: 'nextBatch', args: [linesPerBatch], now: this.#now() })
  }

  settle (receipt: UsageAck): Promise<void> {
    const now = this.#now()
    return this.#send({ name: 'applyAck', args: [receipt, now], now })
  }

  /** Closes the file after earlier calls have finished, and ends the thread. */
  async close (): Promise<void> {
    if (this.#thread === undefined) return
    const ended = once(this.#thread, 'exit')
    this.#thread.postMessage('close')
    await ended
  }

  #send<T> (request: LedgerRequest): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#thread ??= this.#start()
      this.#waiting.push({ resolve, reject })
      this.#thread.postMessage(request)
    })
  }

  #start (): Worker {
    const started = new Worker(thread, { workerData: this.#path, execArgv: [], name: 'usage-ledger' })
    started.on('message', (response: LedgerResponse) => {
      const { resolve, reject } = this.#waiting.shift()!
      if ('failure' in response) reject(new LedgerFailure(response.failure))
      else resolve(response.value as never)
    })
    let reason = 'the usage ledger\'s thread has exited'
    started.on('error', error => { reason = error.message })
    started.once('exit', () => {
      this.#thread = undefined
      for (const { reject } of this.#waiting.splice(0)) reject(new LedgerFailure({ message: reason }))
    })
    return started
  }
}
