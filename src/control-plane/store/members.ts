import { Type, type Static } from 'typebox'
import { roles, type Actor, type Role } from '../../config/actor.js'
import type { IdempotencyToken } from './context.js'
import { ControlError } from './control-error.js'
import { textSchema as text, dateTimeSchema as time, entitySchema, omitNulls, tenantIdSchema } from './entity-schema.js'
import type { InvitationRow, MemberRow } from './tables.js'

/** The maximum length of any valid email address. */
export const maxEmailLength = 254

/** The schema of a {@link Member}. */
export const memberSchema = entitySchema({
  memberId: Type.String(),
  /** Absent for operators. */
  tenantId: Type.Optional(tenantIdSchema),
  email: Type.String(),
  name: Type.String(),
  role: Type.Enum(roles, {
    description: 'Operators can do everything, admins everything in their organization, viewers only read'
  }),
  mustChangePassword: Type.Boolean(),
  isFromProvider: Type.Boolean({ description: 'Whether the person signs in with an OpenID provider' }),
  createdAt: time('When the person became a member'),
  createdBy: Type.String(),
  lastSignInAt: Type.Optional(time('When the person last signed in'))
})

/** A person who may sign in. The password is not included. Times are ISO 8601. */
export type Member = Readonly<Static<typeof memberSchema>>

/** A member whose password was checked. `proof` identifies the password, and grants no access by itself. */
export interface OpenedMember extends Member { readonly proof: string }

/** The schema of an {@link Invitation}. */
export const invitationSchema = entitySchema({
  invitationId: Type.String(),
  tenantId: Type.Optional(tenantIdSchema),
  email: Type.String(),
  role: memberSchema.properties.role,
  createdAt: time('When it was created'),
  createdBy: Type.String(),
  expiresAt: time('When its link expires')
})

/** A person who was invited to become a member. */
export type Invitation = Readonly<Static<typeof invitationSchema>>

/** The schema of an invitation with the token of its link. */
export const newInvitationSchema = entitySchema({
  ...invitationSchema.properties,
  token: Type.String({ description: 'Completes the link /dashboard/invitations/<token>; shown only once' })
})

/** The schema of a request for a new invitation. */
export const invitationDraftSchema = entitySchema({
  email: text('Email address of the person', maxEmailLength),
  role: memberSchema.properties.role
})

/** The person to invite. Operators belong to no organization, all others to one. */
export type InvitationDraft = IdempotencyToken & Readonly<Static<typeof invitationDraftSchema>>

/** The schema of what a request changes of a member. */
export const memberChangesSchema = entitySchema({ role: memberSchema.properties.role })

/** The schema of a password that was reset. */
export const oneTimePasswordSchema = entitySchema({
  password: Type.String({ description: 'For one sign-in; shown only once' })
})

/** A person's identity and role, as an OpenID provider states them. */
export interface ProviderIdentity {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly tenantId?: string
}

/** The member in a row. */
export function toMember ({ mustChangePassword, passwordHash, issuer, subject, ...row }: MemberRow): Member {
  return { ...omitNulls(row), mustChangePassword: mustChangePassword === 1, isFromProvider: issuer !== null }
}

/** The invitation in a row, without the hash of its token. */
export function toInvitation ({ tokenHash, ...row }: InvitationRow): Invitation {
  return omitNulls(row)
}

/** A member's name in the audit trail. It includes the id, since an invitation may have any address. */
export function toActorName ({ email, memberId }: Pick<Member, 'email' | 'memberId'>): string {
  return `member:${email} (${memberId})`
}

/** The actor that a member is. */
export function toActor (member: Member): Actor {
  const { role, tenantId } = member
  const name = toActorName(member)
  if (role === 'operator') return { name, role }
  if (tenantId === undefined) throw new Error('a member who is no operator belongs to no organization')
  return { name, role, tenantId }
}

/** An e-mail address in the form in which it is stored and compared. */
export const normalizeEmail = (email: string): string => email.trim().toLowerCase()

/** A valid address in that form. @throws {ControlError} invalid */
export function parseEmail (email: string): string {
  const trimmed = normalizeEmail(email)
  if (trimmed.length > maxEmailLength || !/^[^\s@\p{C}]+@[^\s@\p{C}]+\.[^\s@\p{C}]+$/u.test(trimmed)) {
    throw new ControlError('invalid', 'Enter an email address such as ann@example.org.', 'email')
  }
  return trimmed
}

/** Whether those with a role belong to an organization: operators and gateways serve all of them. */
export const belongsToOrganization = (role: Role | 'gateway'): boolean => role !== 'operator' && role !== 'gateway'

/** The role, if it fits the organization, or its absence. @throws {ControlError} invalid */
export function parseRole (role: Role, tenantId: string | undefined): Role {
  if (!roles.includes(role)) throw new ControlError('invalid', `The role must be one of: ${roles.join(', ')}.`, 'role')
  if (belongsToOrganization(role) === (tenantId === undefined)) {
    throw new ControlError('invalid', 'Operators belong to no organization. Admins and viewers belong to one.', 'role')
  }
  return role
}
