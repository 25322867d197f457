import type { Transaction } from 'kysely'
import { base32, randomString } from '../../keys/random-text.js'
import {
  maxWebhooks,
  overlapMs,
  type DeliveryPage,
  type DeliveryQuery,
  type NewWebhook,
  type Webhook,
  type WebhookChanges,
  type WebhookDraft,
  type WebhookOwner,
  type Webhooks,
  type WebhookScope
} from '../../events/webhooks/webhook.js'
import { newWebhookSecret } from '../../events/webhooks/signature.js'
import { recordAudit, serialized } from './change-log.js'
import type { ControlContext } from './context.js'
import { ControlError } from './control-error.js'
import { requireOrganization } from './organization-store.js'
import { notFound } from './permissions.js'
import type { Tables } from './tables.js'
import { toDelivery, toWebhook, webhookColumns } from './webhook-rows.js'
import type { SecretSealer } from './webhook-secrets.js'
import type { WebhookRow } from './webhook-tables.js'

const newId = (prefix: string): string => `${prefix}_${randomString(base32, 26)}`

/** What a change does in its transaction, to the webhook as it is. */
type Change<T> = (trx: Transaction<Tables>, row: WebhookRow) => Promise<T>

/** The webhooks of organizations. Each change writes a line of the audit trail, without the URL. */
export class WebhookStore implements Webhooks {
  readonly #context: ControlContext
  readonly #sealer: SecretSealer

  constructor (context: ControlContext, sealer: SecretSealer) {
    this.#context = context
    this.#sealer = sealer
  }

  /** Events from now on are sent. */
  async create (draft: WebhookDraft, owner: WebhookOwner): Promise<NewWebhook> {
    const { url, types = ['*'], description = '', enabled = true } = draft
    const { tenantId, mode, by } = owner
    const columns = webhookColumns({ url, types, description, enabled }) as Required<ReturnType<typeof webhookColumns>>
    const secret = newWebhookSecret()
    return await serialized(this.#context.db, async trx => {
      await requireOrganization(trx, tenantId)
      await requireFewer(trx, owner)
      const id = newId('whk')
      const row: WebhookRow = {
        id,
        kind: 'webhook',
        tenantId,
        mode,
        ...columns,
        disabledReason: null,
        disabledAt: null,
        secret: this.#sealer.seal(secret, id),
        previousSecret: null,
        previousSecretUntil: null,
        createdAt: this.#at(),
        createdBy: by,
        position: await latestSequence(trx),
        leaseNumber: 0,
        leasedUntil: null,
        claimedAt: this.#at(),
        restUntil: null,
        settings: null,
        awaitsHandshake: 0,
        heartbeatAt: null,
        endsAt: null,
        eventNumber: 0
      }
      await trx.insertInto('webhooks').values(row).execute()
      await this.#record(trx, owner, { id, action: 'webhook created', detail: { mode, types, enabled } })
      return { ...toWebhook(row, this.#context.now()), secret }
    })
  }

  async list ({ tenantId, mode }: WebhookScope): Promise<Webhook[]> {
    const rows = await this.#context.db.selectFrom('webhooks').selectAll().where('kind', '=', 'webhook')
      .where('tenantId', '=', tenantId).where('mode', '=', mode).orderBy('createdAt').orderBy('id').execute()
    return rows.map(row => toWebhook(row, this.#context.now()))
  }

  /** Whose webhook has this id. */
  async locate (id: string): Promise<WebhookScope | undefined> {
    return await this.#context.db.selectFrom('webhooks').select(['tenantId', 'mode']).where('id', '=', id)
      .where('kind', '=', 'webhook').executeTakeFirst()
  }

  async find (id: string, scope: WebhookScope): Promise<Webhook> {
    return toWebhook(await this.#rowOf(this.#context.db, id, scope), this.#context.now())
  }

  async change (id: string, owner: WebhookOwner, changes: WebhookChanges): Promise<Webhook> {
    const columns = webhookColumns(changes)
    return await this.#change(id, owner, async (trx, row) => {
      const isEnabled = row.enabled === 0 && columns.enabled === 1
      const changed = await trx.updateTable('webhooks').set({
        ...columns,
        ...isEnabled && { disabledReason: null, disabledAt: null, restUntil: null },
        // A turn that is under way must not overwrite what this sets.
        leaseNumber: row.leaseNumber + 1,
        leasedUntil: null
      }).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
      if (isEnabled) {
        await trx.updateTable('webhookRetries').set({ attempts: 0, nextAttemptAt: this.#at() }).where('webhookId', '=', id)
          .execute()
      }
      const { url, ...detail } = changes
      await this.#record(trx, owner, {
        id,
        action: 'webhook changed',
        detail: { ...detail, ...url !== undefined && { changed: ['url'] } }
      })
      return toWebhook(changed, this.#context.now())
    })
  }

  remove (id: string, owner: WebhookOwner): Promise<void> {
    return this.#change(id, owner, async trx => {
      await trx.deleteFrom('webhookRetries').where('webhookId', '=', id).execute()
      await trx.deleteFrom('webhookDeliveries').where('webhookId', '=', id).execute()
      await trx.deleteFrom('webhooks').where('id', '=', id).execute()
      await this.#record(trx, owner, { id, action: 'webhook deleted', detail: {} })
    })
  }

  roll (id: string, owner: WebhookOwner): Promise<NewWebhook> {
    const secret = newWebhookSecret()
    return this.#change(id, owner, async (trx, row) => {
      const changed = await trx.updateTable('webhooks').set({
        secret: this.#sealer.seal(secret, id),
        previousSecret: row.secret,
        previousSecretUntil: this.#at(overlapMs)
      }).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
      await this.#record(trx, owner, { id, action: 'webhook secret rolled', detail: {} })
      return { ...toWebhook(changed, this.#context.now()), secret }
    })
  }

  test (id: string, owner: WebhookOwner): Promise<{ readonly eventId: string }> {
    return this.#change(id, owner, async trx => {
      const waiting = await trx.selectFrom('webhookRetries').select('eventId').where('webhookId', '=', id)
        .where('sequence', '=', 0).executeTakeFirst()
      if (waiting !== undefined) {
        throw new ControlError('conflict', 'A test event is waiting to be sent. Try again when it has been.')
      }
      const eventId = newId('evt')
      await trx.insertInto('webhookRetries').values({
        webhookId: id,
        eventId,
        sequence: 0,
        eventCreatedAt: this.#at(),
        attempts: 0,
        nextAttemptAt: this.#at(),
        eventNumber: null
      }).execute()
      return { eventId }
    })
  }

  async deliveries (id: string, scope: WebhookScope, { count, before }: DeliveryQuery): Promise<DeliveryPage> {
    const { db } = this.#context
    await this.#rowOf(db, id, scope)
    const last = before === undefined
      ? undefined
      : await db.selectFrom('webhookDeliveries').select(['at', 'id']).where('webhookId', '=', id)
        .where('id', '=', before).executeTakeFirst()
    if (before !== undefined && last === undefined) return { deliveries: [], hasMore: false }
    const rows = await db.selectFrom('webhookDeliveries').selectAll().where('webhookId', '=', id)
      .$if(last !== undefined, query => query.where(eb => eb.or([
        eb('at', '<', last!.at),
        eb.and([eb('at', '=', last!.at), eb('id', '<', last!.id)])
      ]))).orderBy('at', 'desc').orderBy('id', 'desc').limit(count + 1).execute()
    return { deliveries: rows.slice(0, count).map(toDelivery), hasMore: rows.length > count }
  }

  resend (id: string, owner: WebhookOwner, since: string): Promise<{ readonly events: number }> {
    const from = new Date(since).toISOString()
    return this.#change(id, owner, async (trx, row) => {
      const { first, count } = await trx.selectFrom('events').select(({ fn }) => [
        fn.min('sequence').as('first'), fn.countAll().as('count')
      ]).where('organizationId', '=', row.tenantId).where('mode', '=', row.mode).where('createdAt', '>=', from)
        .executeTakeFirstOrThrow()
      const position = first === null ? row.position : Math.min(Number(first) - 1, row.position)
      await trx.updateTable('webhooks').set({ position, leaseNumber: row.leaseNumber + 1, leasedUntil: null })
        .where('id', '=', id).execute()
      // They come again in their order.
      await trx.deleteFrom('webhookRetries').where('webhookId', '=', id).where('sequence', '>', position).execute()
      await this.#record(trx, owner, { id, action: 'webhook events sent again', detail: { since: from } })
      return { events: Number(count) }
    })
  }

  /** Deletes the deliveries that are older, as their events are. */
  async deleteBefore (time: Date): Promise<void> {
    await this.#context.db.deleteFrom('webhookDeliveries').where('at', '<', time.toISOString()).execute()
  }

  #change<T> (id: string, owner: WebhookOwner, change: Change<T>): Promise<T> {
    return serialized(this.#context.db, async trx => change(trx, await this.#rowOf(trx, id, owner)))
  }

  async #rowOf (db: ControlContext['db'], id: string, { tenantId, mode }: WebhookScope): Promise<WebhookRow> {
    const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).where('kind', '=', 'webhook')
      .where('tenantId', '=', tenantId).where('mode', '=', mode).executeTakeFirst()
    if (row === undefined) throw notFound('webhook')
    return row
  }

  #record (
    trx: Transaction<Tables>,
    { tenantId, by: actor }: WebhookOwner,
    { id: entity, action, detail }: { readonly id: string, readonly action: string, readonly detail: object }
  ): Promise<void> {
    return recordAudit(trx, { at: this.#at(), actor, action, entity, tenantId, detail })
  }

  /** The time now, or in `inMs`. */
  #at (inMs = 0): string {
    return new Date(this.#context.now().getTime() + inMs).toISOString()
  }
}

async function requireFewer (trx: Transaction<Tables>, { tenantId, mode }: WebhookScope): Promise<void> {
  const { count } = await trx.selectFrom('webhooks').select(({ fn }) => fn.countAll().as('count'))
    .where('kind', '=', 'webhook').where('tenantId', '=', tenantId).where('mode', '=', mode).executeTakeFirstOrThrow()
  if (Number(count) < maxWebhooks) return
  throw new ControlError('conflict', `There are ${maxWebhooks} webhooks, the most. Delete one that is not needed.`)
}

/** The sequence number of the latest event. */
export async function latestSequence (trx: Transaction<Tables>): Promise<number> {
  const { sequence } = await trx.selectFrom('eventCounter').select('sequence').executeTakeFirstOrThrow()
  return Number(sequence)
}
