import type { ExpressionBuilder, Kysely, NotNull, Transaction } from 'kysely'
import pLimit from 'p-limit'
import { hashSecret } from '../../keys/secret.js'
import type { Role } from '../../config/actor.js'
import type { ControlContext } from './context.js'
import { deviceName, isDevice, newDevice } from './trusted-device.js'
import { parseEmail, parseRole, memberName, toMember, type Member, type OpenedMember, type ProviderIdentity } from './members.js'
import { parseName } from './validate-name.js'
import { parsePassword, hashPassword, isPassword, oneTimePassword } from './passwords.js'
import { requireOrganization } from './organization-store.js'
import { notFound } from './permissions.js'
import { serialized, recordAudit } from './change-log.js'
import { ControlError } from './control-error.js'
import type { MemberRow, Tables } from './tables.js'

/** A new member, either with a password or with an identity at an OpenID provider. */
interface MemberDraft {
  readonly tenantId?: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly passwordHash?: string
  readonly mustChangePassword?: boolean
  readonly issuer?: string
  readonly subject?: string
}

/**
 * People and their passwords. One person may be a member of several organizations, with a separate password for each, so that
 * no organization can find out about another by inviting someone.
 */
export class MemberStore {
  readonly #context: ControlContext

  constructor (context: ControlContext) {
    this.#context = context
  }

  /** The members of an organization, or the operators if there is no `tenantId`. Oldest first. */
  async list (tenantId?: string): Promise<Member[]> {
    const rows = await this.#context.db.selectFrom('members').selectAll()
      .where(byTenant(tenantId)).orderBy('createdAt').orderBy('memberId').execute()
    return rows.map(toMember)
  }

  /** The member with this id. Sessions must check each time that there is still one. */
  async find (memberId: string): Promise<Member | undefined> {
    const row = await this.#context.db.selectFrom('members').selectAll().where('memberId', '=', memberId).executeTakeFirst()
    return row && toMember(row)
  }

  /** The members with this address and password: possibly several, one per organization. `among` limits them to some ids. */
  async whoHas (email: string, password: string, among?: readonly string[]): Promise<OpenedMember[]> {
    const rows = (await this.#withPassword(email)).filter(({ memberId }) => among?.includes(memberId) ?? true)
    const candidates = rows.length > 0 ? rows : [undefined]
    // Each membership has its own hash to check: someone with many would otherwise take all the slots for hashing.
    const inTurns = pLimit(2)
    const found = await Promise.all(candidates.map(row => inTurns(async () => await isPassword(password, row?.passwordHash) ? [opened(row!)] : [])))
    return found.flat()
  }

  /** The member of a proof, if the password has not changed since. */
  async findOpened ({ memberId, proof }: Pick<OpenedMember, 'memberId' | 'proof'>): Promise<Member | undefined> {
    const row = await this.#context.db.selectFrom('members').selectAll().where('memberId', '=', memberId).where('passwordHash', 'is not', null)
      .$narrowType<{ passwordHash: NotNull }>().executeTakeFirst()
    return row !== undefined && hashSecret(row.passwordHash) === proof ? toMember(row) : undefined
  }

  /** A token by which the browser can prove that these members signed in with it. See {@link newDevice}. */
  async newDevice (memberIds: readonly string[]): Promise<string> {
    const rows = await this.#context.db.selectFrom('members').select('passwordHash').where('memberId', 'in', memberIds).execute()
    return newDevice(rows.flatMap(({ passwordHash }) => passwordHash ?? []))
  }

  /** The members with this address that signed in with the browser that has this token, and the browser's name. Undefined if none did. */
  async knownDevice (email: string, text: string): Promise<{ readonly name: string, readonly memberIds: readonly string[] } | undefined> {
    const known = (await this.#withPassword(email)).filter(({ passwordHash }) => isDevice(text, passwordHash))
    return known.length === 0 ? undefined : { name: deviceName(text), memberIds: known.map(({ memberId }) => memberId) }
  }

  /** Records that a member signed in. */
  async signedIn (memberId: string): Promise<void> {
    await serialized(this.#context.db, async trx => {
      const row = await memberRow(trx, memberId)
      await trx.updateTable('members').set({ lastSignInAt: this.#at() }).where('memberId', '=', memberId).execute()
      await recordAudit(trx, { at: this.#at(), actor: memberName(row), action: 'signed in', entity: memberId, tenantId: row.tenantId ?? undefined, detail: {} })
    })
  }

  /** The member with this identity at a provider, created or updated from what the provider says. */
  async fromProvider (identity: ProviderIdentity): Promise<Member> {
    const { issuer, subject, tenantId } = identity
    const email = parseEmail(identity.email)
    const name = parseName(identity.name)
    const role = parseRole(identity.role, tenantId)
    return serialized(this.#context.db, async trx => {
      const known = await trx.selectFrom('members').selectAll().where('issuer', '=', issuer).where('subject', '=', subject).executeTakeFirst()
      if (tenantId !== undefined) await requireOrganization(trx, tenantId)
      if (known === undefined) return await this.insert(trx, { tenantId, email, name, role, issuer, subject }, `provider:${new URL(issuer).host}`)
      const changed = { email, name, role, tenantId: tenantId ?? null }
      await trx.updateTable('members').set(changed).where('memberId', '=', known.memberId).execute()
      if (known.role !== role || known.tenantId !== changed.tenantId) {
        await endSessions(trx, known.memberId)
        await recordAudit(trx, { at: this.#at(), actor: `provider:${new URL(issuer).host}`, action: 'member changed', entity: known.memberId, tenantId, detail: { role } })
      }
      return toMember({ ...known, ...changed })
    })
  }

  /** Replaces a member's own password. The member must know the current one. Ends all sessions of the member. */
  async changePassword (memberId: string, { current, requested }: { readonly current: string, readonly requested: string }): Promise<OpenedMember> {
    const { db } = this.#context
    const { passwordHash } = await memberRow(db, memberId)
    if (passwordHash === null) throw new ControlError('conflict', 'Your organization\'s sign-in manages your password. Change it there.')
    if (!await isPassword(current, passwordHash)) throw new ControlError('invalid', 'This is not your current password.', 'current')
    if (requested === current) throw new ControlError('invalid', 'Choose a password that differs from the current one.', 'wanted')
    return this.#setPassword(memberId, { password: parsePassword(requested, 'wanted'), mustChange: false, replacing: passwordHash })
  }

  /** Sets a one-time password for a member who lost theirs. It can't be read again later. Ends all sessions of the member. */
  async resetPassword (memberId: string, by: string): Promise<{ readonly password: string }> {
    const { passwordHash } = await memberRow(this.#context.db, memberId)
    if (passwordHash === null) throw new ControlError('conflict', 'This person signs in with the organization\'s own provider.')
    const password = oneTimePassword()
    await this.#setPassword(memberId, { password, mustChange: true, by })
    return { password }
  }

  /** Changes the member's own name, unless a provider determines it. */
  async changeName (memberId: string, requested: string): Promise<Member> {
    const name = parseName(requested)
    return serialized(this.#context.db, async trx => {
      const row = await memberRow(trx, memberId)
      if (row.issuer !== null) throw new ControlError('conflict', 'Your name comes from your organization\'s sign-in. Change it there.')
      await trx.updateTable('members').set({ name }).where('memberId', '=', memberId).execute()
      await recordAudit(trx, { at: this.#at(), actor: memberName(row), action: 'name changed', entity: memberId, tenantId: row.tenantId ?? undefined, detail: { name } })
      return toMember({ ...row, name })
    })
  }

  /** Changes a member's role, unless a provider determines it. Ends the member's sessions, so that it applies at once. */
  changeRole (memberId: string, role: Role, by: string): Promise<Member> {
    return serialized(this.#context.db, async trx => {
      const row = await memberRow(trx, memberId)
      parseRole(role, row.tenantId ?? undefined)
      if (row.issuer !== null) throw new ControlError('conflict', 'This person\'s role comes from the organization\'s provider. Change it there.')
      await trx.updateTable('members').set({ role }).where('memberId', '=', memberId).execute()
      await endSessions(trx, memberId)
      await recordAudit(trx, { at: this.#at(), actor: by, action: 'member changed', entity: memberId, tenantId: row.tenantId ?? undefined, detail: { role } })
      return toMember({ ...row, role })
    })
  }

  /** Removes a member and ends their sessions. Refuses to remove the last operator. A member whom a provider still admits is created again at the next sign-in. */
  remove (memberId: string, by: string): Promise<Member> {
    return serialized(this.#context.db, async trx => {
      const row = await memberRow(trx, memberId)
      if (row.role === 'operator') await requireAnotherOperator(trx, memberId)
      await trx.deleteFrom('members').where('memberId', '=', memberId).execute()
      await endSessions(trx, memberId)
      await recordAudit(trx, { at: this.#at(), actor: by, action: 'member removed', entity: memberId, tenantId: row.tenantId ?? undefined, detail: { email: row.email, role: row.role } })
      return toMember(row)
    })
  }

  /** Creates the first operator, with a one-time password. Undefined if there already is an operator. */
  async createFirstOperator (email: string, by: string): Promise<{ readonly email: string, readonly password: string } | undefined> {
    if ((await this.list()).length > 0) return undefined
    const password = oneTimePassword()
    const passwordHash = await hashPassword(password)
    return serialized(this.#context.db, async trx => {
      // Another process may have created one while the hash was computed.
      if (await trx.selectFrom('members').select('memberId').where('tenantId', 'is', null).executeTakeFirst() !== undefined) return undefined
      await this.insert(trx, { email, name: 'Operator', role: 'operator', passwordHash, mustChangePassword: true }, by)
      return { email, password }
    })
  }

  /** Adds a member within a transaction. Without `by`, the audit trail names the member. @throws {ControlError} if the organization already has the address */
  async insert (trx: Transaction<Tables>, { tenantId, email, name, role, passwordHash, mustChangePassword = false, issuer, subject }: MemberDraft, by?: string): Promise<Member> {
    await requireNewAddress(trx, { tenantId, email, issuer })
    const memberId = this.#context.newId('mem')
    const addedBy = by ?? memberName({ email, memberId })
    const row: MemberRow = {
      memberId,
      tenantId: tenantId ?? null,
      email,
      name,
      role,
      passwordHash: passwordHash ?? null,
      mustChangePassword: Number(mustChangePassword),
      issuer: issuer ?? null,
      subject: subject ?? null,
      createdAt: this.#at(),
      createdBy: addedBy,
      lastSignInAt: null
    }
    await trx.insertInto('members').values(row).execute()
    await recordAudit(trx, { at: this.#at(), actor: addedBy, action: 'member added', entity: memberId, tenantId, detail: { email, role } })
    return toMember(row)
  }

  #withPassword (email: string) {
    return this.#context.db.selectFrom('members').selectAll().where('email', '=', email.trim().toLowerCase())
      .where('passwordHash', 'is not', null).$narrowType<{ passwordHash: NotNull }>().execute()
  }

  async #setPassword (memberId: string, { password, mustChange, by, replacing }: NewPassword): Promise<OpenedMember> {
    const passwordHash = await hashPassword(password)
    return serialized(this.#context.db, async trx => {
      const row = await memberRow(trx, memberId)
      // An admin may have reset the password while the hash was computed.
      if (replacing !== undefined && row.passwordHash !== replacing) throw new ControlError('conflict', 'Your password was changed meanwhile. Sign in with the new one.')
      const changed = { passwordHash, mustChangePassword: Number(mustChange) }
      await trx.updateTable('members').set(changed).where('memberId', '=', memberId).execute()
      await endSessions(trx, memberId)
      const action = mustChange ? 'password reset' : 'password changed'
      await recordAudit(trx, { at: this.#at(), actor: by ?? memberName(row), action, entity: memberId, tenantId: row.tenantId ?? undefined, detail: {} })
      return opened({ ...row, ...changed })
    })
  }

  #at (): string {
    return this.#context.now().toISOString()
  }
}

interface NewPassword {
  readonly password: string
  readonly mustChange: boolean
  /** Who sets it; undefined for the member. */
  readonly by?: string
  /** The hash that must still be stored. Undefined if any password may be replaced. */
  readonly replacing?: string
}

/** A member with a proof of the password. */
function opened (row: MemberRow & { readonly passwordHash: string }): OpenedMember {
  return { ...toMember(row), proof: hashSecret(row.passwordHash) }
}

/** The condition for rows that belong to an organization, or to none. */
export function byTenant (tenantId: string | undefined) {
  return (eb: ExpressionBuilder<Tables, 'members' | 'invitations' | 'tokens'>) => tenantId === undefined ? eb('tenantId', 'is', null) : eb('tenantId', '=', tenantId)
}

/** Refuses an address that the organization already has. Members from a provider may share an address with each other. */
export async function requireNewAddress (trx: Transaction<Tables>, { tenantId, email, issuer }: Pick<MemberDraft, 'tenantId' | 'email' | 'issuer'>): Promise<void> {
  const taken = await trx.selectFrom('members').select('memberId').where(byTenant(tenantId)).where('email', '=', email)
    .$if(issuer !== undefined, query => query.where('issuer', 'is', null)).executeTakeFirst()
  if (taken !== undefined) throw new ControlError('conflict', 'Someone with this address is already a member.', 'email')
}

async function memberRow (db: Kysely<Tables>, memberId: string): Promise<MemberRow> {
  const row = await db.selectFrom('members').selectAll().where('memberId', '=', memberId).executeTakeFirst()
  if (row === undefined) throw notFound('member')
  return row
}

async function requireAnotherOperator (trx: Transaction<Tables>, memberId: string): Promise<void> {
  const other = await trx.selectFrom('members').select('memberId').where('role', '=', 'operator').where('memberId', '!=', memberId).executeTakeFirst()
  if (other === undefined) throw new ControlError('conflict', 'This is the last operator. Invite another one first.')
}

async function endSessions (trx: Transaction<Tables>, memberId: string): Promise<void> {
  await trx.deleteFrom('sessions').where('memberId', '=', memberId).execute()
}
