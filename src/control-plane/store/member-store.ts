import { MemberPasswords } from './member-passwords.js'
import type { Transaction } from 'kysely'
import type { Role } from '../../config/actor.js'
import { parseEmail, parseRole, toActorName, toMember, type Member, type ProviderIdentity } from './members.js'
import { parseName } from './validate-name.js'
import { hashPassword, createOneTimePassword } from './passwords.js'
import { requireOrganization } from './organization-store.js'
import { runSerialized } from './change-log.js'
import { ControlError } from './control-error.js'
import type { MemberRow, Tables } from './tables.js'
import {
  hasTenant, requireNewAddress, requireMemberRow, requireAnotherOperator, endSessions, type MemberDraft
} from './member-rows.js'

/**
 * People and their passwords. One person may be a member of several organizations, with a separate password for each,
 * so that no organization can find out about another by an invitation.
 */
export class MemberStore extends MemberPasswords {
  /** The members of an organization, or the operators if there is no `tenantId`. Oldest first. */
  async list (tenantId?: string): Promise<Member[]> {
    const rows = await this.context.db.selectFrom('members').selectAll().where(hasTenant(tenantId)).orderBy('createdAt')
      .orderBy('memberId').execute()
    return rows.map(toMember)
  }

  /** The member with this id. Sessions must check each time that there is still one. */
  async find (memberId: string): Promise<Member | undefined> {
    const row = await this.context.db.selectFrom('members').selectAll().where('memberId', '=', memberId)
      .executeTakeFirst()
    return row && toMember(row)
  }

  /** Records that a member signed in. */
  async recordSignIn (memberId: string): Promise<void> {
    await runSerialized(this.context.db, async trx => {
      const row = await requireMemberRow(trx, memberId)
      await trx
        .updateTable('members')
        .set({ lastSignInAt: this.getIsoTime() })
        .where('memberId', '=', memberId)
        .execute()
      await this.record(trx, row, { action: 'signed in' })
    })
  }

  /** The member with this identity at a provider, created or updated from the provider's claims. */
  async upsertFromProvider (identity: ProviderIdentity): Promise<Member> {
    const { issuer, subject, tenantId } = identity
    const email = parseEmail(identity.email)
    const name = parseName(identity.name)
    const role = parseRole(identity.role, tenantId)
    const actor = `provider:${new URL(issuer).host}`
    return runSerialized(this.context.db, async trx => {
      const known = await trx.selectFrom('members').selectAll().where('issuer', '=', issuer).where('subject', '=',
        subject).executeTakeFirst()
      if (tenantId !== undefined) await requireOrganization(trx, tenantId)
      if (known === undefined) {
        return await this.insert(trx, { tenantId, email, name, role, issuer, subject }, actor)
      }
      const changed = { email, name, role, tenantId: tenantId ?? null }
      await trx.updateTable('members').set(changed).where('memberId', '=', known.memberId).execute()
      if (known.role !== role || known.tenantId !== changed.tenantId) {
        await endSessions(trx, known.memberId)
        await this.record(trx, { ...known, ...changed }, { actor, action: 'member changed', detail: { role } })
      }
      return toMember({ ...known, ...changed })
    })
  }

  /** Changes the member's own name, unless a provider determines it. */
  async changeName (memberId: string, requested: string): Promise<Member> {
    const name = parseName(requested)
    return runSerialized(this.context.db, async trx => {
      const row = await requireMemberRow(trx, memberId)
      if (row.issuer !== null) { throw new ControlError('conflict', "Your name comes from your organization's sign-in. Change it there.") }
      await trx.updateTable('members').set({ name }).where('memberId', '=', memberId).execute()
      await this.record(trx, row, { action: 'name changed', detail: { name } })
      return toMember({ ...row, name })
    })
  }

  /**
   * Changes a member's role, unless a provider determines it. Ends the member's sessions, so that it applies
   * immediately.
   */
  changeRole (memberId: string, role: Role, by: string): Promise<Member> {
    return runSerialized(this.context.db, async trx => {
      const row = await requireMemberRow(trx, memberId)
      parseRole(role, row.tenantId ?? undefined)
      if (row.issuer !== null) {
        throw new ControlError('conflict',
          "This person's role comes from the organization's provider. Change it there.")
      }
      await trx.updateTable('members').set({ role }).where('memberId', '=', memberId).execute()
      await endSessions(trx, memberId)
      await this.record(trx, row, { actor: by, action: 'member changed', detail: { role } })
      return toMember({ ...row, role })
    })
  }

  /**
   * Removes a member and ends their sessions. Refuses to remove the last operator. A member whom a provider still
   * admits is created again at the next sign-in.
   */
  remove (memberId: string, by: string): Promise<Member> {
    return runSerialized(this.context.db, async trx => {
      const row = await requireMemberRow(trx, memberId)
      if (row.role === 'operator') await requireAnotherOperator(trx, memberId)
      await trx.deleteFrom('members').where('memberId', '=', memberId).execute()
      await endSessions(trx, memberId)
      const { email, role } = row
      await this.record(trx, row, { actor: by, action: 'member removed', detail: { email, role } })
      return toMember(row)
    })
  }

  /** Creates the first operator, with a one-time password. Undefined if there already is an operator. */
  async createFirstOperator (email: string,
    by: string): Promise<{ readonly email: string, readonly password: string } | undefined> {
    if ((await this.list()).length > 0) return undefined
    const password = createOneTimePassword()
    const passwordHash = await hashPassword(password)
    return runSerialized(this.context.db, async trx => {
      // Another process may have created one while the hash was computed.
      if (await trx.selectFrom('members').select('memberId').where('tenantId', 'is', null).executeTakeFirst() !==
        undefined) return undefined
      await this.insert(trx, { email, name: 'Operator', role: 'operator', passwordHash, mustChangePassword: true }, by)
      return { email, password }
    })
  }

  /**
   * Adds a member within a transaction. Without `by`, the audit trail names the member. @throws {ControlError} if the
   * organization already has the address
   */
  async insert (trx: Transaction<Tables>,
    { tenantId, email, name, role, passwordHash, mustChangePassword = false, issuer, subject }: MemberDraft,
    by?: string): Promise<Member> {
    await requireNewAddress(trx, { tenantId, email, issuer })
    const memberId = this.context.newId('mem')
    const addedBy = by ?? toActorName({ email, memberId })
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
      createdAt: this.getIsoTime(),
      createdBy: addedBy,
      lastSignInAt: null
    }
    await trx.insertInto('members').values(row).execute()
    await this.record(trx, row, { actor: addedBy, action: 'member added', detail: { email, role } })
    return toMember(row)
  }
}
