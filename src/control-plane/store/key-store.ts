import type { Kysely, Transaction } from 'kysely'
import { hashSecret, generateSecret } from '../../keys/secret.js'
import { createEntityId, insertOnce, type ControlContext } from './context.js'
import {
  toChangedColumns,
  toKeyColumns,
  toRotationDeadline,
  toKeyState,
  requireActiveKey,
  requireNotRotated,
  toSuccessorDraft,
  toKey,
  type Key,
  type KeyChanges,
  type KeyDraft,
  type NewKey
} from './keys.js'
import { requireOrganization } from './organization-store.js'
import { notFound } from './permissions.js'
import { runSerialized, appendChange, type AuditAction } from './change-log.js'
import type { KeyRow, Tables } from './tables.js'

/**
 * API keys. Each change also writes an entry of the change feed and a line of the audit trail, in the same transaction.
 */
export class KeyStore {
  readonly #context: ControlContext

  constructor (context: ControlContext) {
    this.#context = context
  }

  /** Creates a key. The returned secret can't be read again later. */
  create (draft: KeyDraft, by: string): Promise<NewKey> {
    return runSerialized(this.#context.db, async trx => {
      await requireOrganization(trx, draft.tenantId)
      return this.#insert(trx, draft, by)
    })
  }

  /**
   * Creates a key that replaces another. The old key stays valid for the overlap and then expires; with an overlap of 0
   * it is revoked immediately.
   */
  roll (keyId: string, overlapMs: number, by: string): Promise<NewKey & { previous: Key }> {
    return runSerialized(this.#context.db, async trx => {
      const now = this.#context.now()
      const row = await findRow(trx, keyId)
      requireActiveKey(row, now)
      requireNotRotated(row)
      const made = await this.#insert(trx, toSuccessorDraft(row, now), by)
      const end = { successor: made.keyId, ...toRotationDeadline(row, overlapMs, now) }
      const previous = await this.#update(trx, { ...row, ...end }, { actor: by, action: 'key rolled', detail: end })
      return { ...made, previous }
    })
  }

  /** Revokes a key permanently. A key that is already revoked stays unchanged. */
  revoke (keyId: string, by: string): Promise<Key> {
    return runSerialized(this.#context.db, async trx => {
      const row = await findRow(trx, keyId)
      if (row.revokedAt !== null) return toKey(row)
      return this.#update(
        trx,
        { ...row, revokedAt: this.#getIsoTime() },
        { actor: by, action: 'key revoked', detail: {} }
      )
    })
  }

  /** Changes the name or the expiry of a valid key. */
  change (keyId: string, changes: KeyChanges, by: string): Promise<Key> {
    return runSerialized(this.#context.db, async trx => {
      const row = await findRow(trx, keyId)
      requireActiveKey(row, this.#context.now())
      const detail = toChangedColumns(changes, this.#context.now())
      return this.#update(
        trx,
        { ...row, ...detail },
        { actor: by, action: 'name' in detail ? 'key changed' : 'key expiry set', detail }
      )
    })
  }

  /** All keys of an organization, oldest first. @throws {ControlError} if there is no such organization */
  async list (tenantId: string): Promise<Key[]> {
    const { db } = this.#context
    await requireOrganization(db, tenantId)
    const rows = await db.selectFrom('keys').selectAll().where('tenantId', '=', tenantId)
      .orderBy('createdAt').orderBy('keyId').execute()
    return rows.map(toKey)
  }

  /** The number of valid keys (neither revoked nor expired) by tenant id. An organization without any is absent. */
  async countActive (): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#context.db
      .selectFrom('keys')
      .select(eb => ['tenantId', eb.fn.countAll().as('keys')])
      .where('revokedAt', 'is', null)
      .where(eb => eb.or([eb('expiresAt', 'is', null), eb('expiresAt', '>', this.#getIsoTime())]))
      .groupBy('tenantId')
      .execute()
    return new Map(rows.map(({ tenantId, keys }) => [tenantId, Number(keys)]))
  }

  /** @throws {ControlError} if there is no such key */
  async find (keyId: string): Promise<Key> {
    return toKey(await findRow(this.#context.db, keyId))
  }

  async #insert (trx: Transaction<Tables>, draft: KeyDraft, by: string): Promise<NewKey> {
    const columns = toKeyColumns(draft, this.#context.now())
    const secret = generateSecret(draft.mode)
    const row: KeyRow = {
      ...columns,
      keyId: createEntityId(this.#context.newId, 'key', draft),
      hash: hashSecret(secret),
      hint: secret.slice(-4),
      createdAt: this.#getIsoTime(),
      createdBy: by,
      revokedAt: null,
      successor: null,
      lastUsedAt: null
    }
    await insertOnce(trx, 'keys', row)
    await this.#record(trx, row, { actor: by, action: 'key created', detail: columns })
    return { keyId: row.keyId, secret, expiresAt: row.expiresAt ?? undefined }
  }

  async #update (trx: Transaction<Tables>, row: KeyRow, action: AuditAction): Promise<Key> {
    const { keyId, name, expiresAt, revokedAt, successor } = row
    await trx.updateTable('keys').set({ name, expiresAt, revokedAt, successor }).where('keyId', '=', keyId).execute()
    await this.#record(trx, row, action)
    return toKey(row)
  }

  #record (trx: Transaction<Tables>, row: KeyRow, action: AuditAction): Promise<void> {
    return appendChange(trx, {
      ...action,
      at: this.#getIsoTime(),
      entity: row.keyId,
      tenantId: row.tenantId,
      now: { kind: 'key', state: toKeyState(row) }
    })
  }

  #getIsoTime (): string {
    return this.#context.now().toISOString()
  }
}

async function findRow (db: Kysely<Tables>, keyId: string): Promise<KeyRow> {
  const row = await db.selectFrom('keys').selectAll().where('keyId', '=', keyId).executeTakeFirst()
  if (row === undefined) throw notFound('key')
  return row
}
