import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Deposit } from './file.js'
import { LedgerFailure, type LedgerAnswer, type LedgerAsked } from './messages.js'
import { linesPerBatch, type UsageBatch, type UsageReceipt } from '../usage.js'

/** What a thread runs is built: a loader of TypeScript, under which tests run, would take a second in each. */
const thread = new URL(import.meta.url.endsWith('.ts') ? '../../../dist/limits/ledger/thread.js' : './thread.js', import.meta.url)

interface Waiting { readonly resolve: (value: never) => void, readonly reject: (error: LedgerFailure) => void }

/**
 * Writes the file of a ledger in a thread of its own, so that no request waits while a disk makes sure of what it was given.
 * What is asked is done in order. A thread that ended is started again with what is asked next.
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

  /** Looks whether the file is well. @throws {LedgerFailure} as all methods do */
  open (): Promise<void> {
    return this.#ask({ name: 'open', args: [], now: this.#now() })
  }

  /** Resolves when the lines are on the disk; a deposit that was made before is not made again. */
  add (deposit: Deposit): Promise<void> {
    return this.#ask({ name: 'add', args: [deposit], now: this.#now() })
  }

  nextBatch (): Promise<UsageBatch | undefined> {
    return this.#ask({ name: 'nextBatch', args: [linesPerBatch], now: this.#now() })
  }

  settle (receipt: UsageReceipt): Promise<void> {
    const now = this.#now()
    return this.#ask({ name: 'settle', args: [receipt, now], now })
  }

  /** Closes the file after what was asked before, and ends the thread. */
  async close (): Promise<void> {
    if (this.#thread === undefined) return
    const ended = once(this.#thread, 'exit')
    this.#thread.postMessage('close')
    await ended
  }

  #ask<T> (asked: LedgerAsked): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#thread ??= this.#start()
      this.#waiting.push({ resolve, reject })
      this.#thread.postMessage(asked)
    })
  }

  #start (): Worker {
    const started = new Worker(thread, { workerData: this.#path, execArgv: [], name: 'usage-ledger' })
    started.on('message', (answer: LedgerAnswer) => {
      const { resolve, reject } = this.#waiting.shift()!
      if ('failure' in answer) reject(new LedgerFailure(answer.failure))
      else resolve(answer.value as never)
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
