import type { Identity } from './line-ids.js'

/**
 * The states of a line; those after `sent` are final. A blank line is `skipped`: it keeps its number, without a result.
 */
export const states = { waiting: 0, sent: 1, done: 2, failed: 3, skipped: 4 } as const

/** The planned action of a line that was sent to the datastore. */
export type LineAction = 'created' | 'updated'

/** A line as it was read. */
export interface NewLine {
  readonly line: number
  readonly at: number
  readonly bytes: number
  /** The type of the record; absent if none could be read. */
  readonly type?: string
  /** The key by which lines refer to it, and from which its id is made. */
  readonly identity?: Identity
  /** The references that may lead to lines of this import; empty for a line that fails. */
  readonly refersTo: readonly Identity[]
  /**
   * What a reference may lead to as well, unless an earlier line has the identity of the first; for a name there is no
   * first.
   */
  readonly alternatives?: ReadonlyArray<{ readonly main?: Identity, readonly others: () => readonly Identity[] }>
  /** An HMAC of number, location, type and identity, which only the gateway can make; absent for a line that fails. */
  readonly seal?: string
  /** Why it can't be stored, encrypted; absent for a valid line. */
  readonly failure?: Buffer
  /** Whether it contains only white space. */
  readonly isBlank?: true
}

/** A line to write. */
export interface IndexedLine {
  readonly line: number
  readonly at: number
  readonly bytes: number
  readonly type: string
  readonly identity: Identity
  readonly seal: string
  readonly cycle: number | null
  readonly plan: LineAction | null
}

/** A line with its position in the order of writing. */
export interface OrderedLine extends IndexedLine { readonly position: number }

/** A line of this import that another line refers to. */
export interface LineReference {
  readonly line: number
  readonly state: number
  readonly plan: LineAction | null
  readonly type: string
  readonly identity: Identity
}

/** The outcome of a line. */
export interface LineOutcomeRow { readonly line: number, readonly isFailed: boolean, readonly result: Buffer }

/** A line for the results. */
export interface ResultRow { readonly line: number, readonly type: string | null, readonly result: Buffer | null }

/** A part of the input, with the offset at which it begins. */
export interface Part { readonly number: number, readonly at: number, readonly type: string | null }

/** `total` includes blank lines, so that a missing line is noticed. */
export interface Counts { readonly total: number, readonly processed: number, readonly failed: number }

/**
 * Facts about the complete index: all lines were read, a line refers to a later one, all lines have a position in the
 * order of writing.
 */
export type IndexStage = 'read' | 'leads on' | 'ordered'

/** A range of lines. */
export interface LineRange { readonly after: number, readonly upTo: number }
