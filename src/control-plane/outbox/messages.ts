/** A call of a method of a file in another thread. `open` only checks that the file is usable. */
export interface FileRequest {
  readonly name: string
  readonly args: readonly unknown[]
  /** The wall clock. */
  readonly now: Date
}

/** The thread's response. There is one for each request, in the same order. */
export type FileResponse =
  | { readonly value: unknown }
  | { readonly failure: FileFault }

/**
 * The part of a failure that can be passed between threads: SQLite's message and code, and the new name of a corrupt
 * file that was set aside.
 */
interface FileFault {
  readonly message: string
  readonly code?: string
  readonly aside?: string
}

/** The disk, or the thread that writes to it, failed. */
export class FileFailure extends Error implements FileFault {
  override readonly name = 'FileFailure'
  readonly code?: string
  readonly aside?: string

  constructor ({ message, code, aside }: FileFault) {
    super(message)
    this.code = code
    this.aside = aside
  }
}
