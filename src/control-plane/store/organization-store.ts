import type { Kysely, Transaction } from 'kysely'
import { createEntityId, insertOnce, type ControlContext } from './context.js'
import {
  requireOverageAllowed,
  toOrganizationRow,
  toOrganizationState,
  toOrganization,
  type KnownPlans,
  type Organization,
  type OrganizationChanges,
  type OrganizationDraft
} from './organizations.js'
import { notFound } from './permissions.js'
import { runSerialized, appendChange, type AuditAction } from './change-log.js'
import type { OrganizationRow, Tables } from './tables.js'

/**
 * Organizations. Each change also writes an entry of the change feed and a line of the audit trail, in the same
 * transaction.
 */
export class OrganizationStore {
  readonly #context: ControlContext
  readonly #plans: KnownPlans

  constructor (context: ControlContext, plans: KnownPlans) {
    this.#context = context
    this.#plans = plans
  }

  /** Creates an organization with a new tenant id. */
  create (draft: OrganizationDraft, by: string): Promise<Organization> {
    return runSerialized(this.#context.db, async trx => {
      const { name, plan, overage, datastore } = draft
      const tenantId = createEntityId(this.#context.newId, 'org', { once: draft.once })
      requireOverageAllowed(overage, plan, this.#plans)
      const made = {
        tenantId,
        name,
        plan,
        overage: overage ?? true,
        createdAt: this.#getIsoTime(),
        datastore: datastore ?? undefined
      }
      await insertOnce(trx, 'organizations', toOrganizationRow(made, this.#plans))
      return this.#record(trx, tenantId, {
        actor: by,
        action: 'organization created',
        detail: { name, plan, overage, datastore }
      })
    })
  }

  /**
   * Changes an organization's name, plan, overage or datastore. Gateways that are connected apply it within a second.
   */
  change (tenantId: string, changes: OrganizationChanges, by: string): Promise<Organization> {
    return runSerialized(this.#context.db, async trx => {
      const row = await requireOrganization(trx, tenantId)
      const { name, plan, overage, datastore } = changes
      requireOverageAllowed(overage, plan ?? row.plan, this.#plans)
      const changed = {
        ...row,
        name: name ?? row.name,
        plan: plan ?? row.plan,
        overage: overage ?? row.overage === 1,
        datastore: datastore === null ? undefined : (datastore ?? row.datastore ?? undefined)
      }
      await trx
        .updateTable('organizations')
        .set(toOrganizationRow(changed, this.#plans))
        .where('tenantId', '=', tenantId)
        .execute()
      return this.#record(trx, tenantId, {
        actor: by,
        action: 'organization changed',
        detail: { name, plan, overage, datastore }
      })
    })
  }

  /** All organizations, oldest first. */
  async list (): Promise<Organization[]> {
    const rows = await this.#context.db
      .selectFrom('organizations')
      .selectAll()
      .orderBy('createdAt')
      .orderBy('tenantId')
      .execute()
    return rows.map(row => toOrganization(row, this.#plans))
  }

  /** @throws {ControlError} if there is no such organization */
  async find (tenantId: string): Promise<Organization> {
    return toOrganization(await requireOrganization(this.#context.db, tenantId), this.#plans)
  }

  async #record (trx: Transaction<Tables>, tenantId: string, action: AuditAction): Promise<Organization> {
    const row = await requireOrganization(trx, tenantId)
    await appendChange(trx, {
      ...action,
      at: this.#getIsoTime(),
      entity: tenantId,
      tenantId,
      now: { kind: 'organization', state: toOrganizationState(row) }
    })
    return toOrganization(row, this.#plans)
  }

  #getIsoTime (): string {
    return this.#context.now().toISOString()
  }
}

/** The row of an organization. @throws {ControlError} if there is none */
export async function requireOrganization (db: Kysely<Tables>, tenantId: string): Promise<OrganizationRow> {
  const row = await db.selectFrom('organizations').selectAll().where('tenantId', '=', tenantId).executeTakeFirst()
  if (row === undefined) throw notFound('organization')
  return row
}
