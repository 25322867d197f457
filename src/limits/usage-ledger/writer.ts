import { compiledModule, FileWriter } from '../../control-plane/outbox/file-writer.js'
import type { FlushBatch } from './file.js'
import { linesPerBatch, type UsageBatch, type UsageAck } from '../usage.js'

/** Writes a ledger's file in a separate thread. Calls run in order. */
export class LedgerWriter {
  readonly #now: () => Date
  readonly #file: FileWriter

  /** `now` is the wall clock. */
  constructor (path: string, now: () => Date) {
    this.#now = now
    const thread = compiledModule('limits/usage-ledger/thread.js')
    this.#file = new FileWriter({ path, thread, name: 'usage-ledger', now })
  }

  /** Checks that the file is usable. @throws {FileFailure} like all methods */
  open (): Promise<void> {
    return this.#file.call('open')
  }

  /** Resolves when the lines are on disk. A flush that was already written is ignored. */
  add (deposit: FlushBatch): Promise<void> {
    return this.#file.call('add', deposit)
  }

  nextBatch (): Promise<UsageBatch | undefined> {
    return this.#file.call('nextBatch', linesPerBatch)
  }

  settle (receipt: UsageAck): Promise<void> {
    return this.#file.call('applyAck', receipt, this.#now())
  }

  /** Closes the file after earlier calls have finished, and ends the thread. */
  close (): Promise<void> {
    return this.#file.close()
  }
}
