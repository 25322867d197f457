import type { Kysely, Transaction } from 'kysely'
import type { WebhookOwner, WebhookScope } from '../../events/webhooks/webhook.js'
import { recordAudit, runSerialized } from './change-log.js'
import type { ControlContext } from './context.js'
import { ControlError } from './control-error.js'
import { requireOrganization } from './organization-store.js'
import { notFound } from './permissions.js'
import type { Tables } from './tables.js'
import type { WebhookRow } from './webhook-tables.js'

/** A change of the receiver's current row, within the transaction. */
type Change<T> = (trx: Transaction<Tables>, row: WebhookRow) => Promise<T>

/** The members of a new row that differ from receiver to receiver. */
type NewReceiver =
  Pick<WebhookRow, 'id' | 'url' | 'types' | 'description' | 'enabled' | 'secret' | 'settings' | 'endsAt'>

interface Kind {
  readonly kind: WebhookRow['kind']
  /** How many an organization may have in one mode. */
  readonly max: number
}

/**
 * The rows of one kind of receiver of events: webhooks or subscriptions, of which one queue delivers. Each is found
 * only within its organization and mode.
 */
export class ReceiverRows {
  readonly #context: ControlContext
  readonly #kind: WebhookRow['kind']
  readonly #max: number

  constructor (context: ControlContext, { kind, max }: Kind) {
    this.#context = context
    this.#kind = kind
    this.#max = max
  }

  /** @throws {ControlError} missing, or conflict where the organization has as many as it may */
  async requireCapacity (trx: Transaction<Tables>, { tenantId, mode }: WebhookScope): Promise<void> {
    await requireOrganization(trx, tenantId)
    const { count } = await trx.selectFrom('webhooks').select(({ fn }) => fn.countAll().as('count'))
      .where('kind', '=', this.#kind).where('tenantId', '=', tenantId).where('mode', '=', mode).executeTakeFirstOrThrow()
    if (Number(count) < this.#max) return
    throw new ControlError(
      'conflict', `There are ${this.#max} ${this.#kind}s, the most. Delete one that is not needed.`
    )
  }

  /** Creates a receiver in a transaction, and notifies the queue as soon as that is committed. */
  async create<T> (create: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
    const created = await runSerialized(this.#context.db, create)
    this.#context.emitter.emit('receiverCreated')
    return created
  }

  /** Events from now on are its own. */
  async add (trx: Transaction<Tables>, { tenantId, mode, by }: WebhookOwner, draft: NewReceiver): Promise<WebhookRow> {
    const { sequence } = await trx.selectFrom('eventCounter').select('sequence').executeTakeFirstOrThrow()
    const row: WebhookRow = {
      ...draft,
      kind: this.#kind,
      tenantId,
      mode,
      disabledReason: null,
      disabledAt: null,
      previousSecret: null,
      previousSecretUntil: null,
      createdAt: this.getIsoTime(),
      createdBy: by,
      position: Number(sequence),
      leaseNumber: 0,
      leasedUntil: null,
      claimedAt: this.getIsoTime(),
      restUntil: null,
      awaitsHandshake: 0,
      heartbeatAt: null,
      eventNumber: 0
    }
    await trx.insertInto('webhooks').values(row).execute()
    return row
  }

  /** All of an organization and mode, the oldest first. */
  async list ({ tenantId, mode }: WebhookScope): Promise<WebhookRow[]> {
    return await this.#context.db.selectFrom('webhooks').selectAll().where('kind', '=', this.#kind)
      .where('tenantId', '=', tenantId).where('mode', '=', mode).orderBy('createdAt').orderBy('id').execute()
  }

  /** @throws {ControlError} missing, the same for one of another organization or kind */
  async find (
    id: string, { tenantId, mode }: WebhookScope, db: Kysely<Tables> = this.#context.db
  ): Promise<WebhookRow> {
    const row = await db.selectFrom('webhooks').selectAll().where('id', '=', id).where('kind', '=', this.#kind)
      .where('tenantId', '=', tenantId).where('mode', '=', mode).executeTakeFirst()
    if (row === undefined) throw notFound(this.#kind)
    return row
  }

  change<T> (id: string, owner: WebhookOwner, change: Change<T>): Promise<T> {
    return runSerialized(this.#context.db, async trx => change(trx, await this.find(id, owner, trx)))
  }

  remove (id: string, owner: WebhookOwner): Promise<void> {
    return this.change(id, owner, async trx => {
      await trx.deleteFrom('webhookRetries').where('webhookId', '=', id).execute()
      await trx.deleteFrom('webhookDeliveries').where('webhookId', '=', id).execute()
      await trx.deleteFrom('webhooks').where('id', '=', id).execute()
      await this.record(trx, owner, { id, action: `${this.#kind} deleted`, detail: {} })
    })
  }

  /** Has something sent at once that is no change of a record: a test, or a handshake. */
  async sendNow (trx: Transaction<Tables>, webhookId: string, eventId: string): Promise<void> {
    await trx.insertInto('webhookRetries').values({
      webhookId,
      eventId,
      sequence: 0,
      eventCreatedAt: this.getIsoTime(),
      attempts: 0,
      nextAttemptAt: this.getIsoTime(),
      eventNumber: null
    }).execute()
  }

  /** Writes a line of the audit trail. */
  record (
    trx: Transaction<Tables>,
    { tenantId, by: actor }: WebhookOwner,
    { id: entity, action, detail }: { readonly id: string, readonly action: string, readonly detail: object }
  ): Promise<void> {
    return recordAudit(trx, { at: this.getIsoTime(), actor, action, entity, tenantId, detail })
  }

  /** The time now, or in `inMs`. */
  getIsoTime (inMs = 0): string {
    return new Date(this.#context.now().getTime() + inMs).toISOString()
  }
}
