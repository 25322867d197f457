import type { Selectable, Transaction } from 'kysely'
import { base32, randomString } from '../../keys/random-text.js'
import {
  maxListedEvents,
  maxSubscriptions,
  type EventRange,
  type NumberedEvent,
  type Subscription,
  type SubscriptionDraft,
  type Subscriptions
} from '../../events/subscriptions/subscription.js'
import type { WebhookOwner, WebhookScope } from '../../events/webhooks/webhook.js'
import { recordAudit, serialized } from './change-log.js'
import type { ControlContext } from './context.js'
import { ControlError } from './control-error.js'
import { requireOrganization } from './organization-store.js'
import { notFound } from './permissions.js'
import { filterOfTopic, formatSettings, mergeHeaders, settingsOf, statusOf, toSubscription } from './subscription-rows.js'
import { countEventsAfter, listNumberedEvents } from './subscription-events.js'
import type { Tables } from './tables.js'
import { parseUrl } from './webhook-rows.js'
import type { SecretSealer } from './webhook-secrets.js'
import { latestSequence } from './webhook-store.js'
import type { WebhookRow } from './webhook-tables.js'

/**
 * Topic-based subscriptions, which the queue of webhooks delivers. Each change writes a line of the audit trail,
 * without the endpoint and headers.
 */
export class SubscriptionStore implements Subscriptions {
  readonly #context: ControlContext
  readonly #sealer: SecretSealer

  constructor (context: ControlContext, sealer: SecretSealer) {
    this.#context = context
    this.#sealer = sealer
  }

  /** Events from now on are sent, once the handshake has succeeded. */
  async create (draft: SubscriptionDraft, owner: WebhookOwner): Promise<Subscription> {
    const { tenantId, mode, by } = owner
    const headers = mergeHeaders(draft.headers, undefined)
    const id = `sub-${randomString(base32, 26)}`
    return await serialized(this.#context.db, async trx => {
      await requireOrganization(trx, tenantId)
      await requireFewer(trx, owner)
      const row: WebhookRow = {
        id,
        kind: 'subscription',
        tenantId,
        mode,
        ...this.#columnsOf(draft, { id, headers, version: 1 }),
        types: filterOfTopic(draft.type),
        description: null,
        enabled: 0,
        disabledReason: null,
        disabledAt: null,
        previousSecret: null,
        previousSecretUntil: null,
        createdAt: this.#at(),
        createdBy: by,
        position: await latestSequence(trx),
        leaseNumber: 0,
        leasedUntil: null,
        claimedAt: this.#at(),
        restUntil: null,
        awaitsHandshake: 0,
        heartbeatAt: null,
        eventNumber: 0
      }
      await trx.insertInto('webhooks').values(row).execute()
      await this.#record(trx, owner, { id, action: 'subscription created', detail: { mode, type: draft.type } })
      return await this.#begin(trx, { row, draft, isKept: false })
    })
  }

  async list ({ tenantId, mode }: WebhookScope): Promise<Subscription[]> {
    const { db } = this.#context
    const rows = await db.selectFrom('webhooks').selectAll().where('kind', '=', 'subscription')
      .where('tenantId', '=', tenantId).where('mode', '=', mode).orderBy('createdAt').orderBy('id').execute()
    return await Promise.all(rows.map(row => this.#present(db, row)))
  }

  async find (id: string, scope: WebhookScope): Promise<Subscription> {
    const { db } = this.#context
    return await this.#present(db, await this.#rowOf(db, id, scope))
  }

  replace (id: string, owner: WebhookOwner, draft: SubscriptionDraft, version: number): Promise<Subscription> {
    return this.#change(id, owner, async (trx, before) => {
      const { type, version: stored } = settingsOf(before)
      if (version !== 0 && version !== stored) throw new ControlError('conflict', 'The subscription was changed meanwhile.')
      if (type !== draft.type) {
        throw new ControlError(
          'invalid', 'expected the topic that the subscription has; create another one for another topic', 'criteria'
        )
      }
      const known = this.#headersOf(before)
      const headers = mergeHeaders(draft.headers, isSameOrigin(draft.endpoint, before.url) ? known : undefined)
      const columns = this.#columnsOf(draft, { id, headers, version: stored + 1 })
      const isKept = draft.status === 'active' && statusOf(before) === 'active' && before.url === columns.url &&
        JSON.stringify(known) === JSON.stringify(headers)
      const row = await trx.updateTable('webhooks').set({
        ...columns,
        // A turn that is under way must not overwrite what this sets.
        leaseNumber: before.leaseNumber + 1,
        leasedUntil: null
      }).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
      await this.#record(trx, owner, { id, action: 'subscription changed', detail: { status: draft.status } })
      return await this.#begin(trx, { row, draft, isKept })
    })
  }

  remove (id: string, owner: WebhookOwner): Promise<void> {
    return this.#change(id, owner, async trx => {
      await trx.deleteFrom('webhookRetries').where('webhookId', '=', id).execute()
      await trx.deleteFrom('webhookDeliveries').where('webhookId', '=', id).execute()
      await trx.deleteFrom('webhooks').where('id', '=', id).execute()
      await this.#record(trx, owner, { id, action: 'subscription deleted', detail: {} })
    })
  }

  async events (id: string, scope: WebhookScope, range: EventRange): Promise<NumberedEvent[]> {
    const { db } = this.#context
    return await listNumberedEvents(db, await this.#rowOf(db, id, scope), { ...range, limit: maxListedEvents })
  }

  #columnsOf (
    draft: SubscriptionDraft,
    { id, headers, version }: { readonly id: string, readonly headers: readonly string[], readonly version: number }
  ): Pick<WebhookRow, 'url' | 'secret' | 'settings' | 'endsAt'> {
    return {
      url: parseUrl(draft.endpoint, 'channel.endpoint'),
      secret: this.#sealer.seal(JSON.stringify(headers), id),
      settings: formatSettings(draft, { version, lastUpdated: this.#at() }),
      endsAt: draft.end === undefined ? null : this.#endOf(draft.end)
    }
  }

  #endOf (end: string): string {
    const time = new Date(end).toISOString()
    if (time > this.#at()) return time
    throw new ControlError('invalid', 'expected a time in the future', 'end')
  }

  /** Requests the handshake, unless the subscription is off or stays active. */
  async #begin (
    trx: Transaction<Tables>,
    { row, draft, isKept }: {
      readonly row: Selectable<WebhookRow>, readonly draft: SubscriptionDraft, readonly isKept: boolean
    }
  ): Promise<Subscription> {
    const { id } = row
    const isOff = draft.status === 'off'
    await trx.deleteFrom('webhookRetries').where('webhookId', '=', id).where('sequence', '=', 0).execute()
    if (!isOff && !isKept) {
      await trx.insertInto('webhookRetries').values({
        webhookId: id,
        eventId: `hsk_${randomString(base32, 26)}`,
        sequence: 0,
        eventCreatedAt: this.#at(),
        attempts: 0,
        nextAttemptAt: this.#at(),
        eventNumber: null
      }).execute()
    }
    const state = {
      enabled: isKept ? 1 : 0,
      awaitsHandshake: isOff || isKept ? 0 : 1,
      disabledReason: null,
      disabledAt: null,
      ...!isKept && { restUntil: null },
      heartbeatAt: isKept && draft.heartbeatSeconds !== undefined ? this.#at(draft.heartbeatSeconds * 1_000) : null
    }
    const changed = await trx.updateTable('webhooks').set(state).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
    return await this.#present(trx, changed)
  }

  async #present (db: ControlContext['db'], row: Selectable<WebhookRow>): Promise<Subscription> {
    return toSubscription(row, {
      headers: this.#headersOf(row),
      eventCount: Number(row.eventNumber) + await countEventsAfter(db, row)
    })
  }

  #headersOf ({ id, secret }: WebhookRow): readonly string[] | undefined {
    const text = this.#sealer.open(secret, id)
    return text === undefined ? undefined : JSON.parse(text) as string[]
  }

  #change<T> (
    id: string, owner: WebhookOwner, change: (trx: Transaction<Tables>, row: WebhookRow) => Promise<T>
  ): Promise<T> {
    return serialized(this.#context.db, async trx => change(trx, await this.#rowOf(trx, id, owner)))
  }

  async #rowOf (db: ControlContext['db'], id: string, { tenantId, mode }: WebhookScope): Promise<WebhookRow> {
    const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).where('kind', '=', 'subscription')
      .where('tenantId', '=', tenantId).where('mode', '=', mode).executeTakeFirst()
    if (row === undefined) throw notFound('subscription')
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

/** Hidden values stay with the receiver that they were meant for: an update elsewhere would hand them over. */
const isSameOrigin = (endpoint: string, stored: string): boolean =>
  new URL(parseUrl(endpoint, 'channel.endpoint')).origin === new URL(stored).origin

async function requireFewer (trx: Transaction<Tables>, { tenantId, mode }: WebhookScope): Promise<void> {
  const { count } = await trx.selectFrom('webhooks').select(({ fn }) => fn.countAll().as('count'))
    .where('kind', '=', 'subscription').where('tenantId', '=', tenantId).where('mode', '=', mode).executeTakeFirstOrThrow()
  if (Number(count) < maxSubscriptions) return
  throw new ControlError('conflict', `There are ${maxSubscriptions} subscriptions, the most. Delete one that is not needed.`)
}
