import type { Kysely } from 'kysely'
import { base32, randomText } from '../keys/random-text.js'
import type { Tables } from './tables.js'

/** What each part of the control store works with. */
export interface ControlContext {
  readonly db: Kysely<Tables>
  readonly now: () => Date
  /** Makes ids that nobody can guess, of `a-z`, `0-9` and `-`. */
  readonly newId: NewId
}

/** The kinds of things that get an id. */
export type IdPrefix = 'org' | 'key' | 'mem' | 'inv' | 'tok'

export type NewId = (prefix: IdPrefix) => string

/** The id that everything gets unless a test decides. */
export const unguessableId: NewId = prefix => `${prefix}-${randomText(base32, 26)}`
