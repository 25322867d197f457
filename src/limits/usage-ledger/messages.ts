import type { LedgerFile } from './file.js'

/** A request to the thread of a ledger. `open` only checks that the file is usable. Times are by the wall clock. */
export type LedgerRequest =
  | { readonly name: 'open'; readonly args: readonly []; readonly now: Date }
  | {
    [Name in LedgerWork]: {
      readonly name: Name
      readonly args: Readonly<Parameters<LedgerFile[Name]>>
      readonly now: Date
    }
  }[LedgerWork]

type LedgerWork = 'add' | 'nextBatch' | 'applyAck'

/** The thread's response. There is one for each request, in the same order. */
export type LedgerResponse =
  | { readonly value: unknown }
  | { readonly failure: LedgerFault }

/**
 * The part of a failure that can be passed between threads: SQLite's message and code, and the new name of a corrupt
 * file that was set aside.
 */
interface LedgerFault {
  readonly message: string
  readonly code?: string
  readonly aside?: string
}

/** The disk, or the thread that writes to it, failed. */
export class LedgerFailure extends Error implements LedgerFault {
  override readonly name = 'LedgerFailure'
  readonly code?: string
  readonly aside?: string

  constructor ({ message, code, aside }: LedgerFault) {
    super(message)
    this.code = code
    this.aside = aside
  }
}
