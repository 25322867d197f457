import type { Identity } from './line-ids.js'

/** Where a line stands. What is done or failed stays so. */
export const states = { waiting: 0, sent: 1, done: 2, failed: 3 } as const

/** What is to become of a line that was sent to the datastore. */
export type LineAction = 'created' | 'updated'

/** A line as it was read. */
export interface NewLine {
  readonly line: number
  readonly at: number
  readonly bytes: number
  /** Whether it is a record at all: an empty line is none, and is not counted. */
  readonly type?: string
  /** By which lines refer to it, and from which its id is made. */
  readonly identity?: Identity
  /** What it refers to, as far as that may be in this import; nothing of one that fails. */
  readonly refersTo: readonly Identity[]
  /** Over all of these, so that nobody else can say them of a line; absent for one that fails. */
  readonly seal?: string
  /** Why it can't be stored, sealed; absent for a good one. */
  readonly failure?: Buffer
}

/** A line that is to be written. */
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

/** A line with its place in the order of writing. */
export interface OrderedLine extends IndexedLine { readonly position: number }

/** Something that a line refers to in this import. */
export interface LineReference {
  readonly line: number
  readonly state: number
  readonly plan: LineAction | null
  readonly type: string
  readonly identity: Identity
}

/** How it ended with a line. */
export interface LineOutcomeRow { readonly line: number, readonly isFailed: boolean, readonly result: Buffer }

/** A line for the results. */
export interface ResultRow { readonly line: number, readonly type: string | null, readonly result: Buffer | null }

/** A part of the input, with the place where it begins. */
export interface Part { readonly number: number, readonly at: number, readonly type: string | null }

export interface Counts { readonly total: number, readonly processed: number, readonly failed: number }

/**
 * What is so of the whole: all lines are in the index, a line refers to one behind it, all lines have their place in
 * the order of writing.
 */
export type IndexStage = 'read' | 'leads on' | 'ordered'

/** A row of lines. */
export interface LineRange { readonly after: number, readonly upTo: number }
