import { Type, type Static } from 'typebox'
import { hashSecret, isToken, generateToken } from '../../keys/secret.js'
import { roles, type Actor } from '../../config/actor.js'
import { createEntityId, insertOnce, type ControlContext, type IdempotencyToken } from './context.js'
import { parseExpiry } from './keys.js'
import { hasTenant } from './member-rows.js'
import { parseRole } from './members.js'
import { parseName } from './validate-name.js'
import { requireOrganization } from './organization-store.js'
import { notFound } from './permissions.js'
import { runSerialized, recordAudit } from './change-log.js'
import { ControlError } from './control-error.js'
import type { TokenRow } from './tables.js'
import {
  textSchema as text, dateTimeSchema as time, entitySchema, expirySchema, omitNulls, tenantIdSchema
} from './entity-schema.js'

/** The roles of a token: those of a person, or to connect as a gateway. */
export const tokenRoles = [...roles, 'gateway'] as const
export type TokenRole = typeof tokenRoles[number]

/** The schema of a {@link Token}. */
export const tokenSchema = entitySchema({
  tokenId: Type.String(),
  /** Absent for operators' and gateways' tokens. */
  tenantId: Type.Optional(tenantIdSchema),
  name: Type.String(),
  role: Type.Enum(tokenRoles, {
    description:
      "A person's role, or `gateway` for what a gateway sends and receives: keys, usage and bulk jobs of all organizations"
  }),
  hint: Type.String({ description: 'The last four characters of the secret' }),
  createdAt: time('When it was created'),
  createdBy: Type.String(),
  expiresAt: Type.Optional(time('When it expires; absent if never')),
  revokedAt: Type.Optional(time('When it was revoked'))
})

/** A token as shown to people, without its secret and hash. Times are ISO 8601. */
export type Token = Readonly<Static<typeof tokenSchema>>

/** The schema of a new token with its secret. */
export const newTokenSchema = entitySchema({
  ...tokenSchema.properties,
  secret: Type.String({ description: 'Shown only once' })
})

/** A new token with its secret, which can't be read again later. */
export type NewToken = Readonly<Static<typeof newTokenSchema>>

/** The schema of a request for a new token. */
export const tokenDraftSchema = entitySchema({
  name: text('Its purpose'),
  role: tokenSchema.properties.role,
  expiresAt: Type.Optional(expirySchema)
})

/** The input for creating a token. Without an expiry it is valid until it is revoked. */
export type TokenDraft = IdempotencyToken & { readonly expiresAt?: Date } &
  Readonly<Omit<Static<typeof tokenDraftSchema>, 'expiresAt'>>

/** Tokens of programs that use the management API, and of gateways. */
export class TokenStore {
  readonly #context: ControlContext

  constructor (context: ControlContext) {
    this.#context = context
  }

  /** Creates a token. The returned secret can't be read again later. */
  create (draft: TokenDraft, by: string): Promise<NewToken> {
    const { tenantId, role, expiresAt } = draft
    if (!tokenRoles.includes(role)) {
      throw new ControlError('invalid', `The role of a token must be one of: ${tokenRoles.join(', ')}.`, 'role')
    }
    parseRole(role === 'gateway' ? 'operator' : role, tenantId)
    const name = parseName(draft.name)
    const secret = generateToken(role === 'gateway' ? 'gateway' : 'control')
    return runSerialized(this.#context.db, async trx => {
      if (tenantId !== undefined) await requireOrganization(trx, tenantId)
      const now = this.#context.now()
      const row: TokenRow = {
        tokenId: createEntityId(this.#context.newId, 'tok', draft),
        tenantId: tenantId ?? null,
        name,
        role,
        hash: hashSecret(secret),
        hint: secret.slice(-4),
        createdAt: now.toISOString(),
        createdBy: by,
        expiresAt: expiresAt === undefined ? null : parseExpiry(expiresAt, now),
        revokedAt: null
      }
      await insertOnce(trx, 'tokens', row)
      await recordAudit(trx, {
        at: row.createdAt,
        actor: by,
        action: 'token created',
        entity: row.tokenId,
        tenantId,
        detail: { name, role, expiresAt: row.expiresAt }
      })
      return { ...toToken(row), secret }
    })
  }

  /** The tokens of an organization, or those of operators and gateways if there is no `tenantId`. Oldest first. */
  async list (tenantId?: string): Promise<Token[]> {
    const rows = await this.#context.db.selectFrom('tokens').selectAll()
      .where(hasTenant(tenantId)).orderBy('createdAt').orderBy('tokenId').execute()
    return rows.map(toToken)
  }

  /** The token with this id. */
  async find (tokenId: string): Promise<Token | undefined> {
    const row = await this.#context.db
      .selectFrom('tokens')
      .selectAll()
      .where('tokenId', '=', tokenId)
      .executeTakeFirst()
    return row && toToken(row)
  }

  /** The valid token with this secret. A malformed secret is not looked up. */
  async findBySecret (secret: string): Promise<Token | undefined> {
    if (!isToken(secret)) return undefined
    const row = await this.#context.db
      .selectFrom('tokens')
      .selectAll()
      .where('hash', '=', hashSecret(secret))
      .executeTakeFirst()
    const isOk =
      row !== undefined &&
      row.revokedAt === null &&
      (row.expiresAt === null || Date.parse(row.expiresAt) > this.#context.now().getTime())
    return isOk ? toToken(row) : undefined
  }

  /** Revokes a token permanently. A token that is already revoked stays unchanged. */
  revoke (tokenId: string, by: string): Promise<Token> {
    return runSerialized(this.#context.db, async trx => {
      const row = await trx.selectFrom('tokens').selectAll().where('tokenId', '=', tokenId).executeTakeFirst()
      if (row === undefined) throw notFound('token')
      if (row.revokedAt !== null) return toToken(row)
      const revokedAt = this.#context.now().toISOString()
      await trx.updateTable('tokens').set({ revokedAt }).where('tokenId', '=', tokenId).execute()
      await recordAudit(trx, {
        at: revokedAt,
        actor: by,
        action: 'token revoked',
        entity: tokenId,
        tenantId: row.tenantId,
        detail: {}
      })
      return toToken({ ...row, revokedAt })
    })
  }
}

/** The actor that a program with this token is. Undefined for a gateway's token, which can't act. */
export function toTokenActor ({ tokenId, role, tenantId }: Token): Actor | undefined {
  const name = `token:${tokenId}`
  if (role === 'gateway') return undefined
  if (role === 'operator') return { name, role }
  if (tenantId === undefined) throw new Error('a token that is not an operator\'s must belong to an organization')
  return { name, role, tenantId }
}

const toToken = ({ hash, ...row }: TokenRow): Token => omitNulls(row)
