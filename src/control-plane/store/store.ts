import { EventEmitter } from 'node:events'
import type { Kysely } from 'kysely'
import type { Batch, Position } from '../../keys/change-feed.js'
import type { AddressRules } from '../../net/checked-connection.js'
import { createRandomId, type ControlContext, type NewId } from './context.js'
import type { ChangeSubscription } from './change-notifier.js'
import { openDatabase, type ControlDatabase, type DatabaseLocation } from './database.js'
import { EventStore } from './event-store.js'
import { GatewayStore } from './gateway-store.js'
import { InvitationStore } from './invitation-store.js'
import { JobStore } from './job-store.js'
import { KeyStore } from './key-store.js'
import { MemberStore } from './member-store.js'
import { OrganizationStore } from './organization-store.js'
import type { KnownPlans } from './organizations.js'
import { listAuditEntries, listChangesSince, type AuditEntry, type AuditQuery } from './change-log.js'
import { SessionStore } from './session-store.js'
import { TokenStore } from './token-store.js'
import { SubscriptionStore } from './subscription-store.js'
import type { Tables } from './tables.js'
import { UsageStore } from './usage.js'
import { WebhookQueue } from './webhook-queue.js'
import { createSecretSealer } from './webhook-secrets.js'
import { WebhookStore } from './webhook-store.js'

interface ControlStoreOptions extends DatabaseLocation, KnownPlans {
  readonly now: () => Date
  /** Makes unguessable ids of `a-z`, `0-9` and `-`. */
  readonly newId?: NewId
  /** 32 bytes that encrypt the secrets of webhooks. If absent: webhooks can't be created or delivered. */
  readonly webhookKey?: Uint8Array
  /** Which hosts webhooks and subscriptions may have. If absent: public ones. */
  readonly receiverRules?: AddressRules
}

/** Opens the control database. Several processes may have it open at the same time. */
export async function openControlStore (options: ControlStoreOptions): Promise<ControlStore> {
  return new ControlStore(await openDatabase(options), options)
}

/**
 * The control database: one store for each kind of entity in it, the audit trail, and the change feed that gateways
 * follow. In every store, `by` names the person or program that makes a change, for the audit trail, and an impossible
 * change is refused with ControlError.
 */
export class ControlStore {
  readonly #database: ControlDatabase
  readonly #db: Kysely<Tables>
  readonly organizations: OrganizationStore
  readonly keys: KeyStore
  readonly members: MemberStore
  readonly invitations: InvitationStore
  readonly sessions: SessionStore
  readonly tokens: TokenStore
  readonly gateways: GatewayStore
  readonly usage: UsageStore
  readonly jobs: JobStore
  readonly events: EventStore
  readonly webhooks: WebhookStore
  readonly webhookQueue: WebhookQueue
  readonly subscriptions: SubscriptionStore

  /** Use {@link openControlStore}. */
  constructor (
    database: ControlDatabase,
    { plans, plansWithoutOverage, now, newId = createRandomId, webhookKey, receiverRules = {} }: ControlStoreOptions
  ) {
    const { db } = database
    this.#database = database
    this.#db = db
    const context: ControlContext = { db, now, newId, receiverRules, emitter: new EventEmitter() }
    this.organizations = new OrganizationStore(context, { plans, plansWithoutOverage })
    this.keys = new KeyStore(context)
    this.members = new MemberStore(context)
    this.invitations = new InvitationStore(context, this.members)
    this.sessions = new SessionStore(context)
    this.tokens = new TokenStore(context)
    this.gateways = new GatewayStore(context)
    this.usage = new UsageStore(context)
    this.jobs = new JobStore(context)
    this.events = new EventStore(context)
    const sealer = createSecretSealer(webhookKey)
    this.webhooks = new WebhookStore(context, sealer)
    this.subscriptions = new SubscriptionStore(context, sealer)
    this.webhookQueue = new WebhookQueue(context, sealer)
  }

  /** Lines of the audit trail, newest first. */
  listAuditEntries (query: AuditQuery): Promise<AuditEntry[]> {
    return listAuditEntries(this.#db, query)
  }

  /** The changes that a replica at this position has not seen, oldest first, at most `limit` of them. */
  listChangesAfter (position: Position, limit: number): Promise<Batch> {
    return listChangesSince(this.#db, position, limit)
  }

  /** Starts listening for changes to organizations and keys, made by this process or another. */
  listenForChanges (): ChangeSubscription {
    return this.#database.listenForChanges()
  }

  /** Closes the database. */
  close (): Promise<void> {
    return this.#database.close()
  }
}
