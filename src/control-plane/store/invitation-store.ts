import { base62, randomString } from '../../keys/random-text.js'
import { hashSecret } from '../../keys/secret.js'
import { createEntityId, insertOnce, type ControlContext } from './context.js'
import { hasTenant, requireNewAddress } from './member-rows.js'
import type { MemberStore } from './member-store.js'
import { parseEmail, parseRole, toInvitation, type Invitation, type InvitationDraft, type Member } from './members.js'
import { parseName } from './validate-name.js'
import { parsePassword, hashPassword } from './passwords.js'
import { requireOrganization } from './organization-store.js'
import { notFound } from './permissions.js'
import { runSerialized, recordAudit } from './change-log.js'
import { ControlError } from './control-error.js'

/** How long the link of an invitation is valid. */
const lifetimeMs = 7 * 24 * 3_600_000

/** The refusal of an invalid link. It is the same whether the link has expired or never existed. */
export function expiredInvitation (): ControlError {
  return new ControlError('missing', 'This invitation has been used, withdrawn or has expired; ask for a new one.')
}

/** Invitations by link. The token is shown once, to the person who invites, and can be used once. */
export class InvitationStore {
  readonly #context: ControlContext
  readonly #members: MemberStore

  constructor (context: ControlContext, members: MemberStore) {
    this.#context = context
    this.#members = members
  }

  /** Creates an invitation for a person who is not yet a member. The returned token can't be read again later. */
  create (draft: InvitationDraft, by: string): Promise<Invitation & { readonly token: string }> {
    const { tenantId } = draft
    const email = parseEmail(draft.email)
    const role = parseRole(draft.role, tenantId)
    const token = randomString(base62, 43)
    return runSerialized(this.#context.db, async trx => {
      if (tenantId !== undefined) await requireOrganization(trx, tenantId)
      await requireNewAddress(trx, { tenantId, email })
      const now = this.#context.now()
      const row = {
        invitationId: createEntityId(this.#context.newId, 'inv', draft),
        tokenHash: hashSecret(token),
        tenantId: tenantId ?? null,
        email,
        role,
        createdAt: now.toISOString(),
        createdBy: by,
        expiresAt: new Date(now.getTime() + lifetimeMs).toISOString()
      }
      await insertOnce(trx, 'invitations', row)
      await recordAudit(trx, {
        at: row.createdAt,
        actor: by,
        action: 'member invited',
        entity: row.invitationId,
        tenantId,
        detail: { email, role }
      })
      return { ...toInvitation(row), token }
    })
  }

  /** Open invitations of an organization, or of operators if there is no `tenantId`. Oldest first. */
  async list (tenantId?: string): Promise<Invitation[]> {
    const rows = await this.#context.db
      .selectFrom('invitations')
      .selectAll()
      .where(hasTenant(tenantId))
      .where('expiresAt', '>', this.#getIsoTime())
      .orderBy('createdAt')
      .execute()
    return rows.map(toInvitation)
  }

  /** The invitation with this id. */
  async find (invitationId: string): Promise<Invitation | undefined> {
    const row = await this.#context.db
      .selectFrom('invitations')
      .selectAll()
      .where('invitationId', '=', invitationId)
      .executeTakeFirst()
    return row && toInvitation(row)
  }

  /** The invitation of a link, while it is valid. */
  async findByToken (token: string): Promise<Invitation | undefined> {
    const row = await this.#context.db
      .selectFrom('invitations')
      .selectAll()
      .where('tokenHash', '=', hashSecret(token))
      .where('expiresAt', '>', this.#getIsoTime())
      .executeTakeFirst()
    return row && toInvitation(row)
  }

  /** Withdraws an invitation. Its link is no longer valid. */
  withdraw (invitationId: string, by: string): Promise<Invitation> {
    return runSerialized(this.#context.db, async trx => {
      const row = await trx
        .deleteFrom('invitations')
        .where('invitationId', '=', invitationId)
        .returningAll()
        .executeTakeFirst()
      if (row === undefined) throw notFound('invitation')
      await recordAudit(trx, {
        at: this.#getIsoTime(),
        actor: by,
        action: 'invitation withdrawn',
        entity: invitationId,
        tenantId: row.tenantId,
        detail: {}
      })
      return toInvitation(row)
    })
  }

  /** Creates the member who was invited, with a name and a password, and uses up the link. */
  async accept (
    token: string,
    { name, password }: { readonly name: string; readonly password: string }
  ): Promise<Member> {
    const parsePersonName = parseName(name)
    const passwordHash = await hashPassword(parsePassword(password))
    return runSerialized(this.#context.db, async trx => {
      const row = await trx
        .deleteFrom('invitations')
        .where('tokenHash', '=', hashSecret(token))
        .where('expiresAt', '>', this.#getIsoTime())
        .returningAll()
        .executeTakeFirst()
      if (row === undefined) throw expiredInvitation()
      const { tenantId, email, role } = row
      return this.#members.insert(trx, {
        tenantId: tenantId ?? undefined,
        email,
        name: parsePersonName,
        role,
        passwordHash
      })
    })
  }

  #getIsoTime (): string {
    return this.#context.now().toISOString()
  }
}
