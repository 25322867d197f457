import { sql, type ExpressionBuilder, type Selectable, type Transaction } from 'kysely'
import {
  maxRetried,
  type Attempt,
  type ClaimedWebhook,
  type DeliveryQueue,
  type DueEvent,
  type TurnResult
} from '../../events/webhooks/delivery-queue.js'
import { maxPauseMs, pauseAfter } from '../../events/webhooks/retry-schedule.js'
import { heartbeatBounds } from '../../events/subscriptions/subscription.js'
import type { ControlContext } from './context.js'
import { toChannel, toDueEvent, handshakeType, buildHeartbeat, toTestEvent } from './due-events.js'
import type { EventRow, Tables } from './tables.js'
import { countEvents, endSubscriptions, hasEnded, settleHandshake } from './subscription-rows.js'
import { isReceived, toDeliveryRow } from './webhook-rows.js'
import type { SecretSealer } from './webhook-secrets.js'
import type { WebhookDeliveryRow, WebhookRow } from './webhook-tables.js'

/** The most new events of one turn. */
const eventsPerTurn = 100
/** The candidates of one look: another process may take some of them meanwhile. */
const candidatesAtOnce = 16

/** Deliveries of webhooks and subscriptions. All times are by the clock of the process that runs the query. */
export class WebhookQueue implements DeliveryQueue {
  readonly #context: ControlContext
  readonly #sealer: SecretSealer
  #hasReceivers = false

  constructor (context: ControlContext, sealer: SecretSealer) {
    this.#context = context
    this.#sealer = sealer
  }

  get hasReceivers (): boolean {
    return this.#hasReceivers
  }

  onReceiverCreated (callback: () => void): void {
    this.#context.emitter.on('receiverCreated', callback)
  }

  async claim (leaseMs: number): Promise<ClaimedWebhook | undefined> {
    const { db } = this.#context
    await this.#prepare(leaseMs)
    if (!this.#hasReceivers) return undefined
    const now = this.#getIsoTime()
    const candidates = await db.selectFrom('webhooks').select(['id', 'leaseNumber']).where(isFree(now))
      .where(hasWork(now)).orderBy('claimedAt').limit(candidatesAtOnce).execute()
    for (const { id, leaseNumber } of candidates) {
      const row = await db.updateTable('webhooks')
        .set({ leaseNumber: leaseNumber + 1, leasedUntil: this.#getIsoTime(leaseMs), claimedAt: now })
        .where('id', '=', id).where('leaseNumber', '=', leaseNumber).where(isFree(now)).returningAll()
        .executeTakeFirst()
      if (row !== undefined) return await this.#buildClaim(row)
    }
    return undefined
  }

  async record (claimed: ClaimedWebhook, result: TurnResult): Promise<void> {
    const { lease, fresh, channel: { heartbeatSeconds } = {} } = claimed
    const { attempts, position, restMs, heldMs } = result
    const eventNumber = fresh.findLast(({ sequence }) => sequence <= position)?.number
    await this.#context.db.transaction().execute(async trx => {
      // It starts with a write, so that SQLite acquires the write lock immediately.
      const { numUpdatedRows } = await trx
        .updateTable('webhooks')
        .set({
          position,
          leasedUntil: heldMs === undefined ? null : this.#getIsoTime(heldMs),
          ...(eventNumber !== undefined && { eventNumber }),
          ...(heartbeatSeconds !== undefined &&
            attempts.length > 0 && { heartbeatAt: this.#getIsoTime(heartbeatSeconds * 1_000) }),
          ...(restMs !== undefined && { restUntil: this.#getIsoTime(Math.min(restMs, maxPauseMs)) })
        })
        .where('id', '=', lease.webhookId)
        .where('leaseNumber', '=', lease.number)
        .executeTakeFirstOrThrow()
      const isHeld = numUpdatedRows > 0n
      const isThere = isHeld || await trx.selectFrom('webhooks').select('id').where('id', '=', lease.webhookId)
        .executeTakeFirst() !== undefined
      // The webhook was deleted meanwhile.
      if (!isThere) return
      const rows: WebhookDeliveryRow[] = []
      for (const attempt of attempts) {
        const nextAttemptAt = isHeld ? await this.#settle(trx, lease.webhookId, attempt) : undefined
        rows.push(toDeliveryRow(lease.webhookId, attempt, nextAttemptAt))
      }
      if (rows.length > 0) await trx.insertInto('webhookDeliveries').values(rows).execute()
      const hasRecovered = attempts.some(({ outcome, event }) => outcome === 'delivered' &&
        ((event.attempt > 1 && event.sequence > 0) || event.type === handshakeType))
      if (isHeld && hasRecovered) await this.#restartRetries(trx, lease.webhookId)
    })
  }

  /** The time of the oldest event that waits for an enabled webhook; undefined if none does. */
  async findOldestEventTime (): Promise<string | undefined> {
    const { db } = this.#context
    const failed = await db.selectFrom('webhookRetries').innerJoin('webhooks', 'webhooks.id', 'webhookId')
      .where('enabled', '=', 1).where('sequence', '>', 0).select(({ fn }) => fn.min('eventCreatedAt').as('at'))
      .executeTakeFirst()
    const fresh = await db.selectFrom(eb => eb.selectFrom('webhooks').where('enabled', '=', 1).select(webhook =>
      webhook.selectFrom('events').select('createdAt').whereRef('organizationId', '=', 'webhooks.tenantId')
        .whereRef('events.mode', '=', 'webhooks.mode').whereRef('events.sequence', '>', 'webhooks.position')
        .orderBy('sequence').limit(1).as('at')).as('waiting')).select(({ fn }) => fn.min('at').as('at')).executeTakeFirst()
    return [failed?.at, fresh?.at].filter(at => typeof at === 'string').sort()[0]
  }

  async #buildClaim (row: Selectable<WebhookRow>): Promise<ClaimedWebhook> {
    const { id, tenantId, mode, url, leaseNumber, heartbeatAt } = row
    const position = Number(row.position)
    const isResting = row.enabled === 0 || (row.restUntil !== null && row.restUntil > this.#getIsoTime())
    const retries = await this.#readDueRetries(row, isResting)
    const maxFailures = isResting ? 0 : maxRetried - await this.#countRetries(id)
    const events = maxFailures <= 0 ? [] : await this.#readNewEvents(row)
    const fresh = events.filter(({ type }) => isReceived(row.types, type)).map((event, at) =>
      toDueEvent(row, event, { attempt: 1, number: toEventNumber(row, Number(row.eventNumber) + at + 1) }))
    const isDue = heartbeatAt !== null && heartbeatAt <= this.#getIsoTime()
    if (isDue && !isResting && retries.length + fresh.length === 0) {
      retries.push(buildHeartbeat(row, { at: this.#getIsoTime(), eventCount: await this.#countEvents(row) }))
    }
    const secrets = this.#decryptSecrets(row)
    return {
      tenantId,
      mode,
      url,
      lease: { webhookId: id, number: leaseNumber },
      secrets,
      ...row.kind === 'subscription' && secrets !== undefined && {
        channel: toChannel(row, JSON.parse(secrets[0]!) as string[])
      },
      retries,
      fresh,
      position,
      through: events.at(-1)?.sequence ?? position,
      maxFailures
    }
  }

  async #readNewEvents ({ tenantId, mode, position }: Selectable<WebhookRow>): Promise<EventRow[]> {
    const rows = await this.#context.db.selectFrom('events').selectAll().where('organizationId', '=', tenantId)
      .where('mode', '=', mode).where('sequence', '>', position).orderBy('sequence').limit(eventsPerTurn).execute()
    return rows.map(row => ({ ...row, sequence: Number(row.sequence) }))
  }

  /** The events that are due again; of a webhook that rests, only tests. */
  async #readDueRetries (webhook: Selectable<WebhookRow>, isResting: boolean): Promise<DueEvent[]> {
    const { db } = this.#context
    const { id: webhookId } = webhook
    const rows = await db.selectFrom('webhookRetries').leftJoin('events', 'events.id', 'webhookRetries.eventId')
      .selectAll('events').select(['eventId', 'attempts', 'eventCreatedAt', 'webhookRetries.sequence as retried', 'eventNumber'])
      .where('webhookId', '=', webhookId).where('nextAttemptAt', '<=', this.#getIsoTime())
      .$if(isResting, query => query.where('webhookRetries.sequence', '=', 0))
      .orderBy('webhookRetries.sequence').execute()
    const expired = rows.filter(row => row.id === null && Number(row.retried) > 0)
    if (expired.length > 0) {
      // Events are stored for a limited time.
      await db.deleteFrom('webhookRetries').where('webhookId', '=', webhookId)
        .where('eventId', 'in', expired.map(({ eventId }) => eventId)).execute()
    }
    const isTest = ({ retried }: typeof rows[number]): boolean => Number(retried) === 0
    const eventCount = rows.some(isTest) ? await this.#countEvents(webhook) : 0
    return rows.filter(row => !expired.includes(row)).map(row =>
      isTest(row)
        ? toTestEvent(webhook, { id: row.eventId, createdAt: row.eventCreatedAt, eventCount })
        : toDueEvent(webhook, { ...row as EventRow, sequence: Number(row.retried) }, {
          attempt: row.attempts + 1, number: toEventNumber(webhook, Number(row.eventNumber))
        })
    )
  }

  /** The events of a subscription's topic since it was created; 0 for a webhook, which has no use of it. */
  async #countEvents (row: Selectable<WebhookRow>): Promise<number> {
    return row.kind === 'webhook' ? 0 : await countEvents(this.#context.db, row)
  }

  async #countRetries (webhookId: string): Promise<number> {
    const { count } = await this.#context.db.selectFrom('webhookRetries').select(({ fn }) => fn.countAll().as('count'))
      .where('webhookId', '=', webhookId).where('sequence', '>', 0).executeTakeFirstOrThrow()
    return Number(count)
  }

  /** Stores when an event is sent again, or that it is not. @returns the time of the next attempt */
  async #settle (trx: Transaction<Tables>, webhookId: string, attempt: Attempt): Promise<string | undefined> {
    const { event, outcome, responseStatus } = attempt
    const isTest = event.sequence === 0
    if (outcome === 'delivered' || isTest) {
      if (event.type === handshakeType) await settleHandshake(trx, webhookId, { attempt, at: this.#getIsoTime() })
      if (event.attempt > 1 || isTest) {
        await trx.deleteFrom('webhookRetries').where('webhookId', '=', webhookId).where('eventId', '=', event.id).execute()
      }
      return undefined
    }
    const pauseMs = responseStatus === 410 ? undefined : pauseAfter({ ...attempt, attempt: event.attempt })
    const nextAttemptAt = this.#getIsoTime(pauseMs)
    const state = { attempts: pauseMs === undefined ? 0 : event.attempt, nextAttemptAt }
    await trx.insertInto('webhookRetries').values({
      webhookId,
      eventId: event.id,
      sequence: event.sequence,
      eventCreatedAt: event.createdAt,
      eventNumber: event.number ?? null,
      ...state
    }).onConflict(conflict => conflict.columns(['webhookId', 'eventId']).doUpdateSet(state)).execute()
    if (pauseMs !== undefined) return nextAttemptAt
    await trx.updateTable('webhooks').set({
      enabled: 0,
      disabledAt: this.#getIsoTime(),
      disabledReason: responseStatus === 410
        ? 'The receiver responded with 410 Gone.'
        : `An event could not be delivered in ${event.attempt} attempts.`
    }).where('id', '=', webhookId).execute()
    return undefined
  }

  /** An event that had failed was delivered, so the receiver is back: the others begin their schedule again. */
  async #restartRetries (trx: Transaction<Tables>, webhookId: string): Promise<void> {
    await trx
      .updateTable('webhookRetries')
      .set({ attempts: 0, nextAttemptAt: this.#getIsoTime() })
      .where('webhookId', '=', webhookId)
      .where('sequence', '>', 0)
      .where('nextAttemptAt', '>', this.#getIsoTime())
      .execute()
  }

  /**
   * Finds out in one query whether there are receivers, ends subscriptions whose time is over, and, if the clock was
   * set back, leases and pauses that would last too long. Only then is there something to write, for which SQLite
   * would have to lock.
   */
  async #prepare (leaseMs: number): Promise<void> {
    const { db } = this.#context
    const [now, lastLease, lastPause] = [this.#getIsoTime(), this.#getIsoTime(leaseMs), this.#getIsoTime(maxPauseMs)]
    const lastHeartbeat = this.#getIsoTime(heartbeatBounds.maximum * 1_000)
    const { hasReceivers, hasEnding, isFar, isLate } = await db.selectNoFrom(eb => {
      const webhooks = eb.selectFrom('webhooks').select('id')
      return [
        eb.exists(webhooks).as('hasReceivers'),
        eb.exists(webhooks.where(hasEnded(now))).as('hasEnding'),
        eb.exists(webhooks.where(webhook => webhook.or([
          webhook('leasedUntil', '>', lastLease),
          webhook('restUntil', '>', lastPause),
          webhook('heartbeatAt', '>', lastHeartbeat)
        ]))).as('isFar'),
        eb.exists(eb.selectFrom('webhookRetries').select('eventId').where('nextAttemptAt', '>', lastPause)).as('isLate')
      ]
    }).executeTakeFirstOrThrow()
    this.#hasReceivers = Boolean(hasReceivers)
    if (isFar) {
      await db.updateTable('webhooks').set({ heartbeatAt: now }).where('heartbeatAt', '>', lastHeartbeat).execute()
      await db.updateTable('webhooks').set({ leasedUntil: lastLease }).where('leasedUntil', '>', lastLease).execute()
      await db.updateTable('webhooks').set({ restUntil: null }).where('restUntil', '>', lastPause).execute()
    }
    if (isLate) {
      await db.updateTable('webhookRetries').set({ nextAttemptAt: now }).where('nextAttemptAt', '>', lastPause).execute()
    }
    if (hasEnding) await endSubscriptions(db, now)
  }

  #decryptSecrets ({ id, secret, previousSecret, previousSecretUntil }: WebhookRow): readonly string[] | undefined {
    const present = this.#sealer.open(secret, id)
    if (present === undefined) return undefined
    const isOverlap =
      previousSecret !== null && previousSecretUntil !== null && previousSecretUntil > this.#getIsoTime()
    const previous = isOverlap ? this.#sealer.open(previousSecret, id) : undefined
    return previous === undefined ? [present] : [present, previous]
  }

  /** The time now, or in `inMs`. */
  #getIsoTime (inMs = 0): string {
    return new Date(this.#context.now().getTime() + inMs).toISOString()
  }
}

const isFree = (now: string) => (eb: ExpressionBuilder<Tables, 'webhooks'>) =>
  eb.or([eb('leasedUntil', 'is', null), eb('leasedUntil', '<=', now)])

/** Whether a webhook has something to send now: a test, an event that is due again, a heartbeat, or a new event. */
const hasWork = (now: string) => (eb: ExpressionBuilder<Tables, 'webhooks'>) => {
  const retries = eb.selectFrom('webhookRetries').whereRef('webhookId', '=', 'webhooks.id')
  const isAwake = eb.and([
    eb('enabled', '=', 1),
    eb.or([eb('restUntil', 'is', null), eb('restUntil', '<=', now)])
  ])
  const isDue = eb.exists(retries.select('eventId').where('nextAttemptAt', '<=', now)
    .where(retry => retry.or([retry('sequence', '=', 0), isAwake])))
  const isQuiet = eb.and([isAwake, eb('heartbeatAt', '<=', now)])
  const hasNews = eb.exists(eb.selectFrom('events').select('events.id')
    .whereRef('events.organizationId', '=', 'webhooks.tenantId').whereRef('events.mode', '=', 'webhooks.mode')
    .whereRef('events.sequence', '>', 'webhooks.position'))
  const hasCapacity = eb(retries.select(sql<number>`count(*)`.as('count')).where('sequence', '>', 0), '<', maxRetried)
  return eb.or([isDue, isQuiet, eb.and([isAwake, hasNews, hasCapacity])])
}

/** The number of an event if its receiver is a subscription; null for a webhook. */
const toEventNumber = ({ kind }: Selectable<WebhookRow>, number: number): number | null =>
  kind === 'subscription' ? number : null
