import type { ExpressionBuilder, Kysely, Transaction } from 'kysely'
import { hashSecret } from '../../keys/secret.js'
import { toMember, type OpenedMember } from './members.js'
import { notFound } from './permissions.js'
import { ControlError } from './control-error.js'
import type { MemberRow, Tables } from './tables.js'
import type { Role } from '../../config/actor.js'

/** A new member, either with a password or with an identity at an OpenID provider. */
export interface MemberDraft {
  readonly tenantId?: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly passwordHash?: string
  readonly mustChangePassword?: boolean
  readonly issuer?: string
  readonly subject?: string
}

/** A password that replaces another, or the first one. */
export interface NewPassword {
  readonly password: string
  readonly mustChange: boolean
  /** Who sets it; undefined for the member. */
  readonly by?: string
  /** The hash that must still be stored. Undefined if any password may be replaced. */
  readonly replacing?: string
}

/** A member with a proof of the password. */
export function toOpenedMember (row: MemberRow & { readonly passwordHash: string }): OpenedMember {
  return { ...toMember(row), proof: hashSecret(row.passwordHash) }
}

/** The condition for rows that belong to an organization, or to none. */
export function hasTenant (tenantId: string | undefined) {
  return (eb: ExpressionBuilder<Tables, 'members' | 'invitations' | 'tokens'>) =>
    tenantId === undefined ? eb('tenantId', 'is', null) : eb('tenantId', '=', tenantId)
}

/**
 * Refuses an address that the organization already has. Members from a provider may share an address with each other.
 */
export async function requireNewAddress (trx: Transaction<Tables>,
  { tenantId, email, issuer }: Pick<MemberDraft, 'tenantId' | 'email' | 'issuer'>): Promise<void> {
  const taken = await trx.selectFrom('members').select('memberId').where(hasTenant(tenantId)).where('email', '=', email)
    .$if(issuer !== undefined, query => query.where('issuer', 'is', null)).executeTakeFirst()
  if (taken !== undefined) throw new ControlError('conflict', 'Someone with this address is already a member.', 'email')
}

export async function requireMemberRow (db: Kysely<Tables>, memberId: string): Promise<MemberRow> {
  const row = await db.selectFrom('members').selectAll().where('memberId', '=', memberId).executeTakeFirst()
  if (row === undefined) throw notFound('member')
  return row
}

export async function requireAnotherOperator (trx: Transaction<Tables>, memberId: string): Promise<void> {
  const other = await trx.selectFrom('members').select('memberId').where('role', '=', 'operator').where('memberId',
    '!=', memberId).executeTakeFirst()
  if (other === undefined) throw new ControlError('conflict', 'This is the last operator. Invite another one first.')
}

export async function endSessions (trx: Transaction<Tables>, memberId: string): Promise<void> {
  await trx.deleteFrom('sessions').where('memberId', '=', memberId).execute()
}
