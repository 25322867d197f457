import type { Kysely, Transaction } from 'kysely'
import type { Batch, Position } from '../keys/change-feed.js'
import { hashSecret, newSecret } from '../keys/secret.js'
import { idFor, requireFirst, unguessableId, type ControlContext, type NewId } from './context.js'
import type { ChangesHeard } from './changes-heard.js'
import { openDatabase, type ControlDatabase, type DatabasePlace } from './database.js'
import { GatewayStore } from './gateway-store.js'
import { InvitationStore } from './invitation-store.js'
import { JobStore } from './job-store.js'
import { changedColumns, draftColumns, endOfOverlap, keyState, requireGood, requireNotRolled, successorDraft, toKey, type Key, type KeyChanges, type KeyDraft, type NewKey } from './keys.js'
import { MemberStore } from './member-store.js'
import { demandOverage, organizationRow, organizationState, toOrganization, type KnownPlans, type Organization, type OrganizationChanges, type OrganizationDraft } from './organizations.js'
import { missingThing } from './permissions.js'
import { auditTrail, changesAfter, inTurn, record, type AuditDeed, type AuditEntry, type AuditQuestion } from './records.js'
import { SessionStore } from './session-store.js'
import { TokenStore } from './token-store.js'
import type { KeyRow, OrganizationRow, Tables } from './tables.js'
import { UsageStore } from './usage.js'

/** What a control store needs. */
interface ControlStoreOptions extends DatabasePlace, KnownPlans {
  readonly now: () => Date
  /** Makes ids that nobody can guess, of `a-z`, `0-9` and `-`. */
  readonly newId?: NewId
}

/** Opens the control store, which several processes may have open at a time. */
export async function openControlStore (options: ControlStoreOptions): Promise<ControlStore> {
  return new ControlStore(await openDatabase(options), options)
}

type Transacted = Transaction<Tables>

/**
 * Organizations and keys. Every change writes, in one transaction, the new state, its place in the change feed and a line of
 * the audit trail that names `by`, the person or program who wished it. What can't be done is refused with {@link ControlRefused}.
 */
export class ControlStore {
  readonly #database: ControlDatabase
  readonly #db: Kysely<Tables>
  readonly #plans: KnownPlans
  readonly #now: () => Date
  readonly #newId: NewId
  readonly members: MemberStore
  readonly invitations: InvitationStore
  readonly sessions: SessionStore
  readonly tokens: TokenStore
  readonly gateways: GatewayStore
  readonly usage: UsageStore
  readonly jobs: JobStore

  /** Use {@link openControlStore}. */
  constructor (database: ControlDatabase, { plans, plansWithoutOverage, now, newId = unguessableId }: ControlStoreOptions) {
    const { db } = database
    this.#database = database
    this.#db = db
    this.#plans = { plans, plansWithoutOverage }
    this.#now = now
    this.#newId = newId
    const context: ControlContext = { db, now, newId }
    this.members = new MemberStore(context)
    this.invitations = new InvitationStore(context, this.members)
    this.sessions = new SessionStore(context)
    this.tokens = new TokenStore(context)
    this.gateways = new GatewayStore(context)
    this.usage = new UsageStore(context)
    this.jobs = new JobStore(context)
  }

  /** Makes an organization with a tenant id of its own. */
  createOrganization (draft: OrganizationDraft, by: string): Promise<Organization> {
    return inTurn(this.#db, async trx => {
      const { name, plan, overage, datastore } = draft
      const tenantId = idFor(this.#newId, 'org', { once: draft.once })
      demandOverage(overage, plan, this.#plans)
      const made = { tenantId, name, plan, overage: overage ?? true, createdAt: this.#at(), datastore: datastore ?? undefined }
      requireFirst(await trx.insertInto('organizations').values(organizationRow(made, this.#plans)).onConflict(conflict => conflict.column('tenantId').doNothing()).executeTakeFirstOrThrow())
      return this.#recordOrganization(trx, tenantId, { actor: by, action: 'organization created', detail: { name, plan, overage, datastore } })
    })
  }

  /** Changes an organization's name, plan or overage; its keys follow within a second. */
  changeOrganization (tenantId: string, changes: OrganizationChanges, by: string): Promise<Organization> {
    return inTurn(this.#db, async trx => {
      const row = await findRow(trx, tenantId)
      const { name, plan, overage, datastore } = changes
      demandOverage(overage, plan ?? row.plan, this.#plans)
      const changed = { ...row, name: name ?? row.name, plan: plan ?? row.plan, overage: overage ?? row.overage === 1, datastore: datastore === null ? undefined : datastore ?? row.datastore ?? undefined }
      await trx.updateTable('organizations').set(organizationRow(changed, this.#plans)).where('tenantId', '=', tenantId).execute()
      return this.#recordOrganization(trx, tenantId, { actor: by, action: 'organization changed', detail: { name, plan, overage, datastore } })
    })
  }

  /** All organizations, oldest first. */
  async listOrganizations (): Promise<Organization[]> {
    const rows = await this.#db.selectFrom('organizations').selectAll().orderBy('createdAt').orderBy('tenantId').execute()
    return rows.map(row => toOrganization(row, this.#plans))
  }

  /** One organization; refused when there is none. */
  async findOrganization (tenantId: string): Promise<Organization> {
    return toOrganization(await findRow(this.#db, tenantId), this.#plans)
  }

  /** Makes a key. Only here is its secret ever known. */
  createKey (draft: KeyDraft, by: string): Promise<NewKey> {
    return inTurn(this.#db, async trx => {
      await findRow(trx, draft.tenantId)
      return this.#insertKey(trx, draft, by)
    })
  }

  /** Makes a key that follows another one, which goes on for the overlap and then expires; with an overlap of 0 it is revoked. */
  rollKey (keyId: string, overlapMs: number, by: string): Promise<NewKey & { previous: Key }> {
    return inTurn(this.#db, async trx => {
      const now = this.#now()
      const row = await findKey(trx, keyId)
      requireGood(row, now)
      requireNotRolled(row)
      const made = await this.#insertKey(trx, successorDraft(row, now), by)
      const end = { successor: made.keyId, ...endOfOverlap(row, overlapMs, now) }
      const previous = await this.#changeKey(trx, { ...row, ...end }, { actor: by, action: 'key rolled', detail: end })
      return { ...made, previous }
    })
  }

  /** Revokes a key for ever; one that was revoked before stays as it was. */
  revokeKey (keyId: string, by: string): Promise<Key> {
    return inTurn(this.#db, async trx => {
      const row = await findKey(trx, keyId)
      if (row.revokedAt !== null) return toKey(row)
      return this.#changeKey(trx, { ...row, revokedAt: this.#at() }, { actor: by, action: 'key revoked', detail: {} })
    })
  }

  /** Changes the name of a good key, or the moment from which it is no longer valid. */
  changeKey (keyId: string, changes: KeyChanges, by: string): Promise<Key> {
    return inTurn(this.#db, async trx => {
      const row = await findKey(trx, keyId)
      requireGood(row, this.#now())
      const detail = changedColumns(changes, this.#now())
      return this.#changeKey(trx, { ...row, ...detail }, { actor: by, action: 'name' in detail ? 'key changed' : 'key expiry set', detail })
    })
  }

  /** All keys of an organization, oldest first; refused when there is no such organization. */
  async listKeys (tenantId: string): Promise<Key[]> {
    await findRow(this.#db, tenantId)
    const rows = await this.#db.selectFrom('keys').selectAll().where('tenantId', '=', tenantId)
      .orderBy('createdAt').orderBy('keyId').execute()
    return rows.map(toKey)
  }

  /** How many keys that are neither revoked nor expired each organization has, by tenant id. */
  async countGoodKeys (): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#db.selectFrom('keys').select(eb => ['tenantId', eb.fn.countAll().as('keys')])
      .where('revokedAt', 'is', null).where(eb => eb.or([eb('expiresAt', 'is', null), eb('expiresAt', '>', this.#at())]))
      .groupBy('tenantId').execute()
    return new Map(rows.map(({ tenantId, keys }) => [tenantId, Number(keys)]))
  }

  /** One key; refused when there is none. */
  async findKey (keyId: string): Promise<Key> {
    return toKey(await findKey(this.#db, keyId))
  }

  /** The newest lines of the audit trail that a question is about. */
  auditTrail (question: AuditQuestion): Promise<AuditEntry[]> {
    return auditTrail(this.#db, question)
  }

  /** What a copy at this position has missed, at most `limit` changes of it. */
  changesAfter (position: Position, limit: number): Promise<Batch> {
    return changesAfter(this.#db, position, limit)
  }

  /** Begins to listen for changes of organizations and keys, by this process or another one. */
  hearChanges (): ChangesHeard {
    return this.#database.hearChanges()
  }

  /** Closes the database. */
  close (): Promise<void> {
    return this.#database.close()
  }

  async #insertKey (trx: Transacted, draft: KeyDraft, by: string): Promise<NewKey> {
    const columns = draftColumns(draft, this.#now())
    const secret = newSecret(draft.mode)
    const row: KeyRow = {
      ...columns,
      keyId: idFor(this.#newId, 'key', draft),
      hash: hashSecret(secret),
      hint: secret.slice(-4),
      createdAt: this.#at(),
      createdBy: by,
      revokedAt: null,
      successor: null,
      lastUsedAt: null
    }
    requireFirst(await trx.insertInto('keys').values(row).onConflict(conflict => conflict.column('keyId').doNothing()).executeTakeFirstOrThrow())
    await this.#recordKey(trx, row, { actor: by, action: 'key created', detail: columns })
    return { keyId: row.keyId, secret, expiresAt: row.expiresAt ?? undefined }
  }

  async #changeKey (trx: Transacted, row: KeyRow, deed: PartialDeed): Promise<Key> {
    const { keyId, name, expiresAt, revokedAt, successor } = row
    await trx.updateTable('keys').set({ name, expiresAt, revokedAt, successor }).where('keyId', '=', keyId).execute()
    await this.#recordKey(trx, row, deed)
    return toKey(row)
  }

  #recordKey (trx: Transacted, row: KeyRow, deed: PartialDeed): Promise<void> {
    return record(trx, { ...deed, at: this.#at(), entity: row.keyId, tenantId: row.tenantId, now: { kind: 'key', state: keyState(row) } })
  }

  async #recordOrganization (trx: Transacted, tenantId: string, deed: PartialDeed): Promise<Organization> {
    const row = await findRow(trx, tenantId)
    await record(trx, { ...deed, at: this.#at(), entity: tenantId, tenantId, now: { kind: 'organization', state: organizationState(row) } })
    return toOrganization(row, this.#plans)
  }

  #at (): string {
    return this.#now().toISOString()
  }
}

type PartialDeed = Pick<AuditDeed, 'actor' | 'action' | 'detail'>

async function findRow (db: Kysely<Tables>, tenantId: string): Promise<OrganizationRow> {
  const row = await db.selectFrom('organizations').selectAll().where('tenantId', '=', tenantId).executeTakeFirst()
  if (row === undefined) throw missingThing('organization')
  return row
}

async function findKey (db: Kysely<Tables>, keyId: string): Promise<KeyRow> {
  const row = await db.selectFrom('keys').selectAll().where('keyId', '=', keyId).executeTakeFirst()
  if (row === undefined) throw missingThing('key')
  return row
}
