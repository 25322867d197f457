import type { LedgerFile } from './file.js'

/** What is asked of the thread of a ledger; `open` is no more than a look whether the file is well. Times are those of the wall clock. */
export type LedgerAsked =
  | { readonly name: 'open', readonly args: readonly [], readonly now: Date }
  | { [Name in LedgerWork]: { readonly name: Name, readonly args: Readonly<Parameters<LedgerFile[Name]>>, readonly now: Date } }[LedgerWork]

type LedgerWork = 'add' | 'nextBatch' | 'settle'

/** What the thread answers, one for each that was asked, in the same order. */
export type LedgerAnswer =
  | { readonly value: unknown }
  | { readonly failure: LedgerFault }

/** What of a failure can be carried from one thread to another: SQLite's words, and the name under which a file that was broken was set aside. */
interface LedgerFault {
  readonly message: string
  readonly code?: string
  readonly aside?: string
}

/** The disk, or the thread that waits for it, did not do its work. */
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
