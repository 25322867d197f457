import { createHash } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import type { Kysely, Transaction } from 'kysely'
import { base32, randomString } from '../../keys/random-text.js'
import type { AddressRules } from '../../net/checked-connection.js'
import { ControlError } from './control-error.js'
import type { Tables } from './tables.js'

/** The dependencies of all stores of the control database. */
export interface ControlContext {
  readonly db: Kysely<Tables>
  readonly now: () => Date
  /** Creates unguessable ids of `a-z`, `0-9` and `-`. */
  readonly newId: NewId
  /** Which hosts webhooks and subscriptions may have, as the delivery allows them. */
  readonly receiverRules: AddressRules
  /** Events within this process: a webhook or subscription was created. */
  readonly emitter: EventEmitter<{ readonly receiverCreated: [] }>
}

/** The prefix of an id: organization, key, member, invitation or token. */
type IdPrefix = 'org' | 'key' | 'mem' | 'inv' | 'tok'

export type NewId = (prefix: IdPrefix) => string

/** Random ids, used everywhere except in tests that set their own. */
export const createRandomId: NewId = prefix => `${prefix}-${randomString(base32, 26)}`

/**
 * Something that is created at most once, however often the request is sent. `once` is a token of 26 lowercase letters
 * and digits, the same in each repetition of the request.
 */
export interface IdempotencyToken {
  readonly tenantId?: string
  readonly once?: string
}

/**
 * The id of the entity that a request creates: derived from `once` and the organization if `once` is set, so that a
 * repeated request gets the same id; random otherwise.
 */
export function createEntityId (newId: NewId, prefix: IdPrefix, { tenantId = '', once }: IdempotencyToken): string {
  if (once === undefined) return newId(prefix)
  if (!/^[a-z0-9]{26}$/.test(once)) {
    throw new ControlError('invalid', 'The value of once must be 26 lowercase letters and digits.')
  }
  const digest = createHash('sha256').update(`${prefix} ${tenantId} ${once}`).digest()
  return `${prefix}-${Array.from(digest.subarray(0, 26), byte => base32[byte % base32.length]).join('')}`
}

/** The tables whose rows have an id of {@link createEntityId}, and its column. */
const idColumns = { organizations: 'tenantId', keys: 'keyId', invitations: 'invitationId', tokens: 'tokenId' } as const

/** Inserts what a request creates. @throws {ControlError} conflict for a repeated request, whose id already exists */
export async function insertOnce<T extends keyof typeof idColumns> (
  trx: Transaction<any>, table: T, row: Tables[T]
): Promise<void> {
  const { numInsertedOrUpdatedRows } = await trx.insertInto(table).values(row)
    .onConflict(conflict => conflict.column(idColumns[table]).doNothing()).executeTakeFirstOrThrow()
  if (numInsertedOrUpdatedRows !== 1n) {
    throw new ControlError(
      'conflict',
      'This request was already sent, and what it creates already exists. Start again to create another one.'
    )
  }
}

/** A new token for {@link IdempotencyToken}. */
export function createIdempotencyToken (): string {
  return randomString(base32, 26)
}
