import type { Selectable, Transaction } from 'kysely'
import { base32, randomString } from '../../keys/random-text.js'
import {
  maxListedEvents,
  maxSubscriptions,
  type EventRange,
  type NumberedEvent,
  type Subscription,
  type SubscriptionDraft,
  type SubscriptionReplacement,
  type Subscriptions
} from '../../events/subscriptions/subscription.js'
import type { WebhookOwner, WebhookScope } from '../../events/webhooks/webhook.js'
import type { ControlContext } from './context.js'
import { ControlError } from './control-error.js'
import { ReceiverRows } from './receiver-rows.js'
import {
  toTopicFilter, formatSettings, mergeHeaders, parseSettings, toStatus, toSubscription, countEvents,
  listNumberedEvents
} from './subscription-rows.js'
import type { Tables } from './tables.js'
import { parseUrl } from './webhook-rows.js'
import type { SecretSealer } from './webhook-secrets.js'
import type { WebhookRow } from './webhook-tables.js'

/**
 * Topic-based subscriptions, which the queue of webhooks delivers. Each change writes a line of the audit trail,
 * without the endpoint and headers.
 */
export class SubscriptionStore implements Subscriptions {
  readonly #context: ControlContext
  readonly #sealer: SecretSealer
  readonly #rows: ReceiverRows

  constructor (context: ControlContext, sealer: SecretSealer) {
    this.#context = context
    this.#sealer = sealer
    this.#rows = new ReceiverRows(context, { kind: 'subscription', max: maxSubscriptions })
  }

  /** Events from now on are sent, once the handshake has succeeded. */
  async create (draft: SubscriptionDraft, owner: WebhookOwner): Promise<Subscription> {
    const headers = mergeHeaders(draft.headers, undefined)
    const id = `sub-${randomString(base32, 26)}`
    return await this.#rows.create(async trx => {
      await this.#rows.requireCapacity(trx, owner)
      const row = await this.#rows.add(trx, owner, {
        id,
        ...this.#toColumns(draft, { id, headers, version: 1 }),
        types: toTopicFilter(draft.type),
        description: null,
        enabled: 0
      })
      const detail = { mode: owner.mode, type: draft.type }
      await this.#rows.record(trx, owner, { id, action: 'subscription created', detail })
      return await this.#begin(trx, { row, draft, staysActive: false })
    })
  }

  async list (scope: WebhookScope): Promise<Subscription[]> {
    const { db } = this.#context
    return await Promise.all((await this.#rows.list(scope)).map(row => this.#present(db, row)))
  }

  async find (id: string, scope: WebhookScope): Promise<Subscription> {
    return await this.#present(this.#context.db, await this.#rows.find(id, scope))
  }

  replace (id: string, owner: WebhookOwner, { draft, version }: SubscriptionReplacement): Promise<Subscription> {
    return this.#rows.change(id, owner, async (trx, before) => {
      const { type, version: stored } = parseSettings(before)
      if (version !== 0 && version !== stored) throw new ControlError('conflict', 'The subscription was changed meanwhile.')
      if (type !== draft.type) {
        throw new ControlError(
          'invalid', 'expected the topic that the subscription has; create another one for another topic', 'criteria'
        )
      }
      const known = this.#decryptHeaders(before)
      const keepsOrigin = isSameOrigin(this.#parseEndpoint(draft), before.url)
      const headers = mergeHeaders(draft.headers, keepsOrigin ? known : undefined)
      const columns = this.#toColumns(draft, { id, headers, version: stored + 1 })
      const staysActive = draft.status === 'active' && toStatus(before) === 'active' && before.url === columns.url &&
        JSON.stringify(known) === JSON.stringify(headers)
      const row = await trx.updateTable('webhooks').set({
        ...columns,
        // A turn that is under way must not overwrite what this sets.
        leaseNumber: before.leaseNumber + 1,
        leasedUntil: null
      }).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
      await this.#rows.record(trx, owner, { id, action: 'subscription changed', detail: { status: draft.status } })
      return await this.#begin(trx, { row, draft, staysActive })
    })
  }

  remove (id: string, owner: WebhookOwner): Promise<void> {
    return this.#rows.remove(id, owner)
  }

  async events (id: string, scope: WebhookScope, range: EventRange): Promise<NumberedEvent[]> {
    const row = await this.#rows.find(id, scope)
    return await listNumberedEvents(this.#context.db, row, { ...range, limit: maxListedEvents })
  }

  #toColumns (
    draft: SubscriptionDraft,
    { id, headers, version }: { readonly id: string, readonly headers: readonly string[], readonly version: number }
  ): Pick<WebhookRow, 'url' | 'secret' | 'settings' | 'endsAt'> {
    return {
      url: this.#parseEndpoint(draft),
      secret: this.#sealer.seal(JSON.stringify(headers), id),
      settings: formatSettings(draft, { version, lastUpdated: this.#rows.getIsoTime() }),
      endsAt: draft.end === undefined ? null : this.#parseEnd(draft.end)
    }
  }

  #parseEndpoint ({ endpoint }: SubscriptionDraft): string {
    return parseUrl(endpoint, this.#context.receiverRules, 'channel.endpoint')
  }

  #parseEnd (end: string): string {
    const time = new Date(end).toISOString()
    if (time > this.#rows.getIsoTime()) return time
    throw new ControlError('invalid', 'expected a time in the future', 'end')
  }

  /** Requests the handshake, unless the subscription is off or stays active. */
  async #begin (
    trx: Transaction<Tables>,
    { row, draft, staysActive }: {
      readonly row: Selectable<WebhookRow>, readonly draft: SubscriptionDraft, readonly staysActive: boolean
    }
  ): Promise<Subscription> {
    const { id } = row
    const isOff = draft.status === 'off'
    await trx.deleteFrom('webhookRetries').where('webhookId', '=', id).where('sequence', '=', 0).execute()
    if (!isOff && !staysActive) {
      await this.#rows.sendNow(trx, id, `hsk_${randomString(base32, 26)}`)
    }
    const state = {
      enabled: staysActive ? 1 : 0,
      awaitsHandshake: isOff || staysActive ? 0 : 1,
      disabledReason: null,
      disabledAt: null,
      ...(!staysActive && { restUntil: null }),
      heartbeatAt:
        staysActive && draft.heartbeatSeconds !== undefined
          ? this.#rows.getIsoTime(draft.heartbeatSeconds * 1_000)
          : null
    }
    const changed = await trx.updateTable('webhooks').set(state).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
    return await this.#present(trx, changed)
  }

  async #present (db: ControlContext['db'], row: Selectable<WebhookRow>): Promise<Subscription> {
    return toSubscription(row, { headers: this.#decryptHeaders(row), eventCount: await countEvents(db, row) })
  }

  #decryptHeaders ({ id, secret }: WebhookRow): readonly string[] | undefined {
    const text = this.#sealer.open(secret, id)
    return text === undefined ? undefined : JSON.parse(text) as string[]
  }
}

/** Hidden values stay with the receiver that they were meant for: an update elsewhere would hand them over. */
const isSameOrigin = (endpoint: string, stored: string): boolean => new URL(endpoint).origin === new URL(stored).origin
