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
import { generateWebhookSecret } from '../../events/webhooks/signature.js'
import type { ControlContext } from './context.js'
import { ControlError } from './control-error.js'
import { ReceiverRows } from './receiver-rows.js'
import { toDelivery, toWebhook, toWebhookColumns } from './webhook-rows.js'
import type { SecretSealer } from './webhook-secrets.js'

const createPrefixedId = (prefix: string): string => `${prefix}_${randomString(base32, 26)}`

/** The webhooks of organizations. Each change writes a line of the audit trail, without the URL. */
export class WebhookStore implements Webhooks {
  readonly #context: ControlContext
  readonly #sealer: SecretSealer
  readonly #rows: ReceiverRows

  constructor (context: ControlContext, sealer: SecretSealer) {
    this.#context = context
    this.#sealer = sealer
    this.#rows = new ReceiverRows(context, { kind: 'webhook', max: maxWebhooks })
  }

  /** Events from now on are sent. */
  async create (draft: WebhookDraft, owner: WebhookOwner): Promise<NewWebhook> {
    const { url, types = ['*'], description = '', enabled = true } = draft
    const columns = toWebhookColumns({ url, types, description, enabled }, this.#context.receiverRules) as Required<
      ReturnType<typeof toWebhookColumns>
    >
    const secret = generateWebhookSecret()
    return await this.#rows.create(async trx => {
      await this.#rows.requireCapacity(trx, owner)
      const id = createPrefixedId('whk')
      const row = await this.#rows.add(trx, owner, {
        id, ...columns, secret: this.#sealer.seal(secret, id), settings: null, endsAt: null
      })
      const detail = { mode: owner.mode, types, enabled }
      await this.#rows.record(trx, owner, { id, action: 'webhook created', detail })
      return { ...toWebhook(row, this.#context.now()), secret }
    })
  }

  async list (scope: WebhookScope): Promise<Webhook[]> {
    return (await this.#rows.list(scope)).map(row => toWebhook(row, this.#context.now()))
  }

  /** Whose webhook has this id. */
  async locate (id: string): Promise<WebhookScope | undefined> {
    return await this.#context.db.selectFrom('webhooks').select(['tenantId', 'mode']).where('id', '=', id)
      .where('kind', '=', 'webhook').executeTakeFirst()
  }

  async find (id: string, scope: WebhookScope): Promise<Webhook> {
    return toWebhook(await this.#rows.find(id, scope), this.#context.now())
  }

  async change (id: string, owner: WebhookOwner, changes: WebhookChanges): Promise<Webhook> {
    const columns = toWebhookColumns(changes, this.#context.receiverRules)
    return await this.#rows.change(id, owner, async (trx, row) => {
      const isEnabled = row.enabled === 0 && columns.enabled === 1
      const changed = await trx.updateTable('webhooks').set({
        ...columns,
        ...isEnabled && { disabledReason: null, disabledAt: null, restUntil: null },
        // A turn that is under way must not overwrite what this sets.
        leaseNumber: row.leaseNumber + 1,
        leasedUntil: null
      }).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
      if (isEnabled) {
        await trx
          .updateTable('webhookRetries')
          .set({ attempts: 0, nextAttemptAt: this.#rows.getIsoTime() })
          .where('webhookId', '=', id)
          .execute()
      }
      const { url, ...detail } = changes
      await this.#rows.record(trx, owner, {
        id,
        action: 'webhook changed',
        detail: { ...detail, ...url !== undefined && { changed: ['url'] } }
      })
      return toWebhook(changed, this.#context.now())
    })
  }

  remove (id: string, owner: WebhookOwner): Promise<void> {
    return this.#rows.remove(id, owner)
  }

  roll (id: string, owner: WebhookOwner): Promise<NewWebhook> {
    const secret = generateWebhookSecret()
    return this.#rows.change(id, owner, async (trx, row) => {
      const changed = await trx.updateTable('webhooks').set({
        secret: this.#sealer.seal(secret, id),
        previousSecret: row.secret,
        previousSecretUntil: this.#rows.getIsoTime(overlapMs)
      }).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
      await this.#rows.record(trx, owner, { id, action: 'webhook secret rolled', detail: {} })
      return { ...toWebhook(changed, this.#context.now()), secret }
    })
  }

  test (id: string, owner: WebhookOwner): Promise<{ readonly eventId: string }> {
    return this.#rows.change(id, owner, async trx => {
      const waiting = await trx.selectFrom('webhookRetries').select('eventId').where('webhookId', '=', id)
        .where('sequence', '=', 0).executeTakeFirst()
      if (waiting !== undefined) {
        throw new ControlError('conflict', 'A test event is waiting to be sent. Try again when it has been.')
      }
      const eventId = createPrefixedId('evt')
      await this.#rows.sendNow(trx, id, eventId)
      return { eventId }
    })
  }

  async deliveries (id: string, scope: WebhookScope, { count, before }: DeliveryQuery): Promise<DeliveryPage> {
    const { db } = this.#context
    await this.#rows.find(id, scope)
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
    return this.#rows.change(id, owner, async (trx, row) => {
      const { first, count } = await trx.selectFrom('events').select(({ fn }) => [
        fn.min('sequence').as('first'), fn.countAll().as('count')
      ]).where('organizationId', '=', row.tenantId).where('mode', '=', row.mode).where('createdAt', '>=', from)
        .executeTakeFirstOrThrow()
      const position = first === null ? row.position : Math.min(Number(first) - 1, row.position)
      await trx.updateTable('webhooks').set({ position, leaseNumber: row.leaseNumber + 1, leasedUntil: null })
        .where('id', '=', id).execute()
      // They come again in their order.
      await trx.deleteFrom('webhookRetries').where('webhookId', '=', id).where('sequence', '>', position).execute()
      await this.#rows.record(trx, owner, { id, action: 'webhook events sent again', detail: { since: from } })
      return { events: Number(count) }
    })
  }

  /** Deletes the deliveries that are older, as their events are. */
  async deleteBefore (time: Date): Promise<void> {
    await this.#context.db.deleteFrom('webhookDeliveries').where('at', '<', time.toISOString()).execute()
  }
}
