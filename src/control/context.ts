import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import { base32, randomText } from '../keys/random-text.js'
import { ControlRefused } from './refused.js'
import type { Tables } from './tables.js'

/** What each part of the control store works with. */
export interface ControlContext {
  readonly db: Kysely<Tables>
  readonly now: () => Date
  /** Makes ids that nobody can guess, of `a-z`, `0-9` and `-`. */
  readonly newId: NewId
}

/** The kinds of things that get an id. */
type IdPrefix = 'org' | 'key' | 'mem' | 'inv' | 'tok'

export type NewId = (prefix: IdPrefix) => string

/** The id that everything gets unless a test decides. */
export const unguessableId: NewId = prefix => `${prefix}-${randomText(base32, 26)}`

/** What is made at most once, however often the wish for it is sent: `once` is a text of 26 letters and digits that the first wish made up. */
export interface MadeOnce {
  readonly tenantId?: string
  readonly once?: string
}

/** The id of what a wish makes. Where the wish is to be fulfilled once, the same wish of the same organization gets the same id, and no other one does. */
export function idFor (newId: NewId, prefix: IdPrefix, { tenantId = '', once }: MadeOnce): string {
  if (once === undefined) return newId(prefix)
  if (!/^[a-z0-9]{26}$/.test(once)) throw new ControlRefused('invalid', 'The value of once must be 26 lowercase letters and digits.')
  const digest = createHash('sha256').update(`${prefix} ${tenantId} ${once}`).digest()
  return `${prefix}-${Array.from(digest.subarray(0, 26), byte => base32[byte % base32.length]).join('')}`
}

/** Refuses a wish whose id is taken already: it was sent twice. */
export function requireFirst (inserted: { readonly numInsertedOrUpdatedRows?: bigint }): void {
  if (inserted.numInsertedOrUpdatedRows !== 1n) throw new ControlRefused('conflict', 'This request was already sent, and what it creates already exists. Start again to create another one.')
}

/** A new text for {@link MadeOnce}. */
export function newOnce (): string {
  return randomText(base32, 26)
}
