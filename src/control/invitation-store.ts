import { base62, randomText } from '../keys/random-text.js'
import { hashSecret } from '../keys/secret.js'
import { idFor, requireFirst, type ControlContext } from './context.js'
import { ofTenant, requireNewAddress, type MemberStore } from './member-store.js'
import { goodEmail, goodRole, toInvitation, type Invitation, type InvitationDraft, type Member } from './members.js'
import { goodName } from './good-name.js'
import { goodPassword, hashPassword } from './passwords.js'
import { requireOrganization } from './organization-store.js'
import { missingThing } from './permissions.js'
import { inTurn, recordAudit } from './records.js'
import { ControlRefused } from './refused.js'

/** How long the link of an invitation works. */
const goodForMs = 7 * 24 * 3_600_000

/** The refusal of a link that opens nothing any more, or never did: the same for both. */
export function lapsedInvitation (): ControlRefused {
  return new ControlRefused('missing', 'This invitation has been used, withdrawn or has expired; ask for a new one.')
}

/** Invitations by link: the token is shown once, to whoever invites, and serves once. */
export class InvitationStore {
  readonly #context: ControlContext
  readonly #members: MemberStore

  constructor (context: ControlContext, members: MemberStore) {
    this.#context = context
    this.#members = members
  }

  /** Makes an invitation for somebody who is no member yet; the token in its link is known only here. */
  create (draft: InvitationDraft, by: string): Promise<Invitation & { readonly token: string }> {
    const { tenantId } = draft
    const email = goodEmail(draft.email)
    const role = goodRole(draft.role, tenantId)
    const token = randomText(base62, 43)
    return inTurn(this.#context.db, async trx => {
      if (tenantId !== undefined) await requireOrganization(trx, tenantId)
      await requireNewAddress(trx, { tenantId, email })
      const now = this.#context.now()
      const row = {
        invitationId: idFor(this.#context.newId, 'inv', draft),
        tokenHash: hashSecret(token),
        tenantId: tenantId ?? null,
        email,
        role,
        createdAt: now.toISOString(),
        createdBy: by,
        expiresAt: new Date(now.getTime() + goodForMs).toISOString()
      }
      requireFirst(await trx.insertInto('invitations').values(row).onConflict(conflict => conflict.column('invitationId').doNothing()).executeTakeFirstOrThrow())
      await recordAudit(trx, { at: row.createdAt, actor: by, action: 'member invited', entity: row.invitationId, tenantId, detail: { email, role } })
      return { ...toInvitation(row), token }
    })
  }

  /** Invitations to an organization, or without one those of operators, that can still be accepted; oldest first. */
  async list (tenantId?: string): Promise<Invitation[]> {
    const rows = await this.#context.db.selectFrom('invitations').selectAll()
      .where(ofTenant(tenantId)).where('expiresAt', '>', this.#at()).orderBy('createdAt').execute()
    return rows.map(toInvitation)
  }

  /** One invitation by its id, whoever it is for. */
  async find (invitationId: string): Promise<Invitation | undefined> {
    const row = await this.#context.db.selectFrom('invitations').selectAll().where('invitationId', '=', invitationId).executeTakeFirst()
    return row && toInvitation(row)
  }

  /** The invitation that a link opens, while it does. */
  async findByToken (token: string): Promise<Invitation | undefined> {
    const row = await this.#context.db.selectFrom('invitations').selectAll()
      .where('tokenHash', '=', hashSecret(token)).where('expiresAt', '>', this.#at()).executeTakeFirst()
    return row && toInvitation(row)
  }

  /** Takes an invitation back; its link opens nothing from now on. */
  withdraw (invitationId: string, by: string): Promise<Invitation> {
    return inTurn(this.#context.db, async trx => {
      const row = await trx.deleteFrom('invitations').where('invitationId', '=', invitationId).returningAll().executeTakeFirst()
      if (row === undefined) throw missingThing('invitation')
      await recordAudit(trx, { at: this.#at(), actor: by, action: 'invitation withdrawn', entity: invitationId, tenantId: row.tenantId ?? undefined, detail: {} })
      return toInvitation(row)
    })
  }

  /** Makes whoever opened the link a member with a name and a password; the link has then served. */
  async accept (token: string, { name, password }: { readonly name: string, readonly password: string }): Promise<Member> {
    const goodPersonName = goodName(name)
    const passwordHash = await hashPassword(goodPassword(password))
    return inTurn(this.#context.db, async trx => {
      const row = await trx.deleteFrom('invitations').where('tokenHash', '=', hashSecret(token)).where('expiresAt', '>', this.#at()).returningAll().executeTakeFirst()
      if (row === undefined) throw lapsedInvitation()
      const { tenantId, email, role } = row
      return this.#members.insert(trx, { tenantId: tenantId ?? undefined, email, name: goodPersonName, role, passwordHash })
    })
  }

  #at (): string {
    return this.#context.now().toISOString()
  }
}
