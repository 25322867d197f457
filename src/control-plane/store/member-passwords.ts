import { createHmac, timingSafeEqual } from 'node:crypto'
import type { NotNull, Transaction } from 'kysely'
import pLimit from 'p-limit'
import { hashSecret } from '../../keys/secret.js'
import type { ControlContext } from './context.js'
import { toActorName, normalizeEmail, toMember, type Member, type OpenedMember } from './members.js'
import { parsePassword, hashPassword, isPassword, createOneTimePassword } from './passwords.js'
import { runSerialized, recordAudit, type AuditAction } from './change-log.js'
import { ControlError } from './control-error.js'
import { toOpenedMember, requireMemberRow, endSessions, type NewPassword } from './member-rows.js'
import type { MemberRow, Tables } from './tables.js'
import { base62, randomString } from '../../keys/random-text.js'

/** Passwords of members, and the browsers in which they signed in with one. */
export class MemberPasswords {
  protected readonly context: ControlContext

  constructor (context: ControlContext) {
    this.context = context
  }

  /**
   * The members with this address and password: possibly several, one per organization. `among` limits them to some
   * ids.
   */
  async findByPassword (email: string, password: string, among?: readonly string[]): Promise<OpenedMember[]> {
    const rows = (await this.#withPassword(email)).filter(({ memberId }) => among?.includes(memberId) ?? true)
    const candidates = rows.length > 0 ? rows : [undefined]
    // Each membership has its own hash to check: a person with many would otherwise occupy all the slots for hashing.
    const limit = pLimit(2)
    const found = await Promise.all(
      candidates.map(row =>
        limit(async () => ((await isPassword(password, row?.passwordHash)) ? [toOpenedMember(row!)] : []))
      )
    )
    return found.flat()
  }

  /** The member of a proof, if the password has not changed since. */
  async findOpened ({ memberId, proof }: Pick<OpenedMember, 'memberId' | 'proof'>): Promise<Member | undefined> {
    const row = await this.context.db.selectFrom('members').selectAll().where('memberId', '=', memberId).where(
      'passwordHash',
      'is not',
      null
    ).$narrowType<{ passwordHash: NotNull }>().executeTakeFirst()
    return row !== undefined && hashSecret(row.passwordHash) === proof ? toMember(row) : undefined
  }

  /** A token by which the browser can prove that these members signed in with it. See {@link createDeviceToken}. */
  async createDeviceToken (memberIds: readonly string[]): Promise<string> {
    const rows = await this.context.db.selectFrom('members').select('passwordHash').where('memberId', 'in', memberIds)
      .execute()
    return createDeviceToken(rows.flatMap(({ passwordHash }) => passwordHash ?? []))
  }

  /**
   * The members with this address that signed in with the browser that has this token, and the browser's name.
   * Undefined if none did.
   */
  async findDevice (email: string,
    text: string): Promise<{ readonly name: string, readonly memberIds: readonly string[] } | undefined> {
    const known = (await this.#withPassword(email)).filter(({ passwordHash }) => isDevice(text, passwordHash))
    return known.length === 0
      ? undefined
      : { name: parseDeviceName(text), memberIds: known.map(({ memberId }) => memberId) }
  }

  /** Replaces a member's own password. The member must know the current one. Ends all sessions of the member. */
  async changePassword (memberId: string,
    { current, requested }: { readonly current: string, readonly requested: string }): Promise<OpenedMember> {
    const { db } = this.context
    const { passwordHash } = await requireMemberRow(db, memberId)
    if (passwordHash === null) { throw new ControlError('conflict', "Your organization's sign-in manages your password. Change it there.") }
    if (!await isPassword(current, passwordHash)) { throw new ControlError('invalid', 'This is not your current password.', 'current') }
    if (requested === current) { throw new ControlError('invalid', 'Choose a password that differs from the current one.', 'wanted') }
    return this.#setPassword(memberId, {
      password: parsePassword(requested, 'wanted'),
      mustChange: false,
      replacing: passwordHash
    })
  }

  /**
   * Sets a one-time password for a member who lost theirs. It can't be read again later. Ends all sessions of the
   * member.
   */
  async resetPassword (memberId: string, by: string): Promise<{ readonly password: string }> {
    const { passwordHash } = await requireMemberRow(this.context.db, memberId)
    if (passwordHash === null) { throw new ControlError('conflict', "This person signs in with the organization's own provider.") }
    const password = createOneTimePassword()
    await this.#setPassword(memberId, { password, mustChange: true, by })
    return { password }
  }

  #withPassword (email: string) {
    return this.context.db.selectFrom('members').selectAll().where('email', '=', normalizeEmail(email)).where(
      'passwordHash',
      'is not',
      null
    ).$narrowType<{ passwordHash: NotNull }>().execute()
  }

  async #setPassword (memberId: string, { password, mustChange, by, replacing }: NewPassword): Promise<OpenedMember> {
    const passwordHash = await hashPassword(password)
    return runSerialized(this.context.db, async trx => {
      const row = await requireMemberRow(trx, memberId)
      // An admin may have reset the password while the hash was computed.
      if (replacing !== undefined && row.passwordHash !== replacing) { throw new ControlError('conflict', 'Your password was changed meanwhile. Sign in with the new one.') }
      const changed = { passwordHash, mustChangePassword: Number(mustChange) }
      await trx.updateTable('members').set(changed).where('memberId', '=', memberId).execute()
      await endSessions(trx, memberId)
      await this.record(trx, row, { action: mustChange ? 'password reset' : 'password changed', actor: by })
      return toOpenedMember({ ...row, ...changed })
    })
  }

  /** Writes a line of the audit trail about a member, who did it unless there is another `actor`. */
  protected record (
    trx: Transaction<Tables>,
    member: Pick<MemberRow, 'memberId' | 'tenantId' | 'email'>,
    { actor = toActorName(member), action, detail = {} }: Partial<AuditAction> & Pick<AuditAction, 'action'>
  ): Promise<void> {
    const { memberId, tenantId } = member
    return recordAudit(trx, { at: this.getIsoTime(), actor, action, entity: memberId, tenantId, detail })
  }

  protected getIsoTime (): string {
    return this.context.now().toISOString()
  }
}

/**
 * A token that a browser stores to prove which members signed in with it: a random name and, for each member, an HMAC
 * of the name keyed with the stored password hash. It grants no access, any control process can check it, and changing
 * the password invalidates it.
 */
function createDeviceToken (passwordHashes: readonly string[]): string {
  const name = randomString(base62, 22)
  return [name, ...passwordHashes.map(hash => computeDeviceCode(name, hash))].join('.')
}

/** Whether a browser's token was made for this password. */
function isDevice (text: string, passwordHash: string): boolean {
  const [, ...codes] = text.split('.')
  const expected = Buffer.from(computeDeviceCode(parseDeviceName(text), passwordHash))
  return codes
    .map(code => Buffer.from(code))
    .some(found => found.length === expected.length && timingSafeEqual(found, expected))
}

/** The random name in a token. All its codes authenticate the name, so it can't be changed. */
function parseDeviceName (text: string): string {
  return text.split('.', 1)[0]!
}

function computeDeviceCode (name: string, passwordHash: string): string {
  return createHmac('sha256', passwordHash).update(`device ${name}`).digest('base64url')
}
