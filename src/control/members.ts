import { roles, type Actor, type Role } from '../actor.js'
import type { MadeOnce } from './context.js'
import { ControlRefused } from './refused.js'
import type { InvitationRow, MemberRow } from './tables.js'

/** A person who may sign in, without password. Times are ISO 8601. */
export interface Member {
  readonly memberId: string
  /** Absent for operators. */
  readonly tenantId?: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly mustChangePassword: boolean
  /** Whether the person signs in at an OpenID provider. */
  readonly isFromProvider: boolean
  readonly createdAt: string
  readonly createdBy: string
  readonly lastSignInAt?: string
}

/** A member whose password was shown; `proof` says which password that was, and opens nothing by itself. */
export interface OpenedMember extends Member { readonly proof: string }

/** A person who was asked to become a member. */
export interface Invitation {
  readonly invitationId: string
  readonly tenantId?: string
  readonly email: string
  readonly role: Role
  readonly createdAt: string
  readonly createdBy: string
  readonly expiresAt: string
}

/** What is said of a person to be invited; operators belong to no organization, all others to one. */
export interface InvitationDraft extends MadeOnce {
  readonly email: string
  readonly role: Role
}

/** Who somebody is by the word of an OpenID provider. */
export interface ProviderIdentity {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly tenantId?: string
}

/** A member as stored. */
export function toMember ({ tenantId, mustChangePassword, passwordHash, issuer, subject, lastSignInAt, ...row }: MemberRow): Member {
  return {
    ...row,
    ...(tenantId === null ? {} : { tenantId }),
    mustChangePassword: mustChangePassword === 1,
    isFromProvider: issuer !== null,
    ...(lastSignInAt === null ? {} : { lastSignInAt })
  }
}

/** An invitation as stored, without the hash of its token. */
export function toInvitation ({ tenantId, tokenHash, ...row }: InvitationRow): Invitation {
  return { ...row, ...(tenantId === null ? {} : { tenantId }) }
}

/** What the audit trail calls a member: by the id too, for anybody may be invited under any address. */
export function memberName ({ email, memberId }: Pick<Member, 'email' | 'memberId'>): string {
  return `member:${email} (${memberId})`
}

/** Who a member is when acting. */
export function actorOf (member: Member): Actor {
  const { role, tenantId } = member
  const name = memberName(member)
  if (role === 'operator') return { name, role }
  if (tenantId === undefined) throw new Error('a member who is no operator belongs to no organization')
  return { name, role, tenantId }
}

/** An address in the form in which it is stored and compared. */
export function goodEmail (email: string): string {
  const trimmed = email.trim().toLowerCase()
  if (trimmed.length > 254 || !/^[^\s@\p{C}]+@[^\s@\p{C}]+\.[^\s@\p{C}]+$/u.test(trimmed)) throw new ControlRefused('invalid', 'Enter an email address such as ann@example.org.', 'email')
  return trimmed
}

/** A role that fits: operators belong to no organization, all others to one. */
export function goodRole (role: Role, tenantId: string | undefined): Role {
  if (!roles.includes(role)) throw new ControlRefused('invalid', `The role must be one of: ${roles.join(', ')}.`, 'role')
  if ((role === 'operator') !== (tenantId === undefined)) throw new ControlRefused('invalid', 'Operators belong to no organization. Admins and viewers belong to one.', 'role')
  return role
}
