import type { Actor, Role } from '../../config/actor.js'
import { modes } from '../../config/mode.js'
import type {
  DeliveryPage,
  DeliveryQuery,
  NewWebhook,
  Webhook,
  WebhookChanges,
  WebhookDraft,
  WebhookOwner,
  WebhookScope
} from '../../events/webhooks/webhook.js'
import type { Bill } from './bill.js'
import { notFound, requireAdmin, requireOperator, requireReadAccess } from './permissions.js'
import type { Gateway, KeyPropagation } from './gateway-store.js'
import type { Key, KeyChanges, KeyDraft, NewKey } from './keys.js'
import type { Invitation, InvitationDraft, Member } from './members.js'
import type { Organization, OrganizationChanges, OrganizationDraft } from './organizations.js'
import type { AuditEntry, AuditQuery } from './change-log.js'
import type { ControlStore } from './store.js'
import type { NewToken, Token, TokenDraft } from './token-store.js'
import type { UsageReport, UsageQuery } from './usage-totals.js'

/** A webhook with its organization. */
export type OwnedWebhook = Webhook & Pick<WebhookScope, 'tenantId'>
type OwnedWebhookDraft = WebhookDraft & WebhookScope

/**
 * The control plane with the permissions of one person or program: the only entry point for the dashboard, the
 * management API and the commands. An entity of another organization is refused as missing, with the same message as
 * one that never existed; an action that the role does not allow is forbidden. Where `tenantId` is optional, its
 * absence selects entities of no organization, for operators only. All methods throw ControlError.
 */
export class ControlService {
  readonly #store: ControlStore

  constructor (store: ControlStore, readonly actor: Actor) {
    this.#store = store
  }

  /** All organizations for an operator, otherwise the actor's own. Oldest first. */
  async listOrganizations (): Promise<Organization[]> {
    const { actor } = this
    return actor.role === 'operator'
      ? this.#store.organizations.list()
      : [await this.#store.organizations.find(actor.tenantId)]
  }

  async findOrganization (tenantId: string): Promise<Organization> {
    requireReadAccess(this.actor, tenantId, 'organization')
    return this.#store.organizations.find(tenantId)
  }

  async createOrganization (draft: OrganizationDraft): Promise<Organization> {
    requireOperator(this.actor)
    return this.#store.organizations.create(draft, this.actor.name)
  }

  /** An organization's admin may change overage only; an operator may change everything. */
  async changeOrganization (tenantId: string, changes: OrganizationChanges): Promise<Organization> {
    requireReadAccess(this.actor, tenantId, 'organization')
    requireAdmin(this.actor)
    const { overage, ...others } = changes
    if (Object.values(others).some(value => value !== undefined)) requireOperator(this.actor)
    return this.#store.organizations.change(tenantId, changes, this.actor.name)
  }

  async listKeys (tenantId: string): Promise<Key[]> {
    requireReadAccess(this.actor, tenantId, 'organization')
    return this.#store.keys.list(tenantId)
  }

  /** The number of valid keys by tenant id. An organization without any is absent. */
  async countActiveKeys (): Promise<ReadonlyMap<string, number>> {
    requireOperator(this.actor)
    return this.#store.keys.countActive()
  }

  async findKey (keyId: string): Promise<Key> {
    const key = await this.#store.keys.find(keyId)
    requireReadAccess(this.actor, key.tenantId, 'key')
    return key
  }

  async createKey (draft: KeyDraft): Promise<NewKey> {
    requireReadAccess(this.actor, draft.tenantId, 'organization')
    requireAdmin(this.actor)
    return this.#store.keys.create(draft, this.actor.name)
  }

  /** @param overlapMs how long the old key stays valid */
  async rollKey (keyId: string, overlapMs: number): Promise<NewKey & { previous: Key }> {
    await this.#requireMayChangeKey(keyId)
    return this.#store.keys.roll(keyId, overlapMs, this.actor.name)
  }

  async revokeKey (keyId: string): Promise<Key> {
    await this.#requireMayChangeKey(keyId)
    return this.#store.keys.revoke(keyId, this.actor.name)
  }

  async changeKey (keyId: string, changes: KeyChanges): Promise<Key> {
    await this.#requireMayChangeKey(keyId)
    return this.#store.keys.change(keyId, changes, this.actor.name)
  }

  /** Which gateways have applied the latest change to a key. */
  async getKeyPropagation (keyId: string): Promise<KeyPropagation> {
    await this.findKey(keyId)
    return (await this.#store.gateways.findPropagation(keyId))!
  }

  async listMembers (tenantId?: string): Promise<Member[]> {
    requireReadAccess(this.actor, tenantId, 'organization')
    return this.#store.members.list(tenantId)
  }

  async findMember (memberId: string): Promise<Member> {
    const member = await this.#store.members.find(memberId)
    if (member === undefined) throw notFound('member')
    requireReadAccess(this.actor, member.tenantId, 'member')
    return member
  }

  async changeMemberRole (memberId: string, role: Role): Promise<Member> {
    await this.#requireMayChangeMember(memberId)
    return this.#store.members.changeRole(memberId, role, this.actor.name)
  }

  async removeMember (memberId: string): Promise<Member> {
    await this.#requireMayChangeMember(memberId)
    return this.#store.members.remove(memberId, this.actor.name)
  }

  /** @returns a password for the member's next sign-in, which can't be read again later */
  async resetPassword (memberId: string): Promise<{ readonly password: string }> {
    await this.#requireMayChangeMember(memberId)
    return this.#store.members.resetPassword(memberId, this.actor.name)
  }

  /** @returns the invitation with the token of its link, which can't be read again later */
  async invite (draft: InvitationDraft): Promise<Invitation & { readonly token: string }> {
    requireReadAccess(this.actor, draft.tenantId, 'organization')
    requireAdmin(this.actor)
    return this.#store.invitations.create(draft, this.actor.name)
  }

  async listInvitations (tenantId?: string): Promise<Invitation[]> {
    requireReadAccess(this.actor, tenantId, 'organization')
    return this.#store.invitations.list(tenantId)
  }

  async withdrawInvitation (invitationId: string): Promise<Invitation> {
    const invitation = await this.#store.invitations.find(invitationId)
    if (invitation === undefined) throw notFound('invitation')
    requireReadAccess(this.actor, invitation.tenantId, 'invitation')
    requireAdmin(this.actor)
    return this.#store.invitations.withdraw(invitationId, this.actor.name)
  }

  async listTokens (tenantId?: string): Promise<Token[]> {
    requireReadAccess(this.actor, tenantId, 'organization')
    return this.#store.tokens.list(tenantId)
  }

  /** @returns the token with its secret, which can't be read again later */
  async createToken (draft: TokenDraft): Promise<NewToken> {
    requireReadAccess(this.actor, draft.tenantId, 'organization')
    requireAdmin(this.actor)
    return this.#store.tokens.create(draft, this.actor.name)
  }

  async findToken (tokenId: string): Promise<Token> {
    const token = await this.#store.tokens.find(tokenId)
    if (token === undefined) throw notFound('token')
    requireReadAccess(this.actor, token.tenantId, 'token')
    return token
  }

  async revokeToken (tokenId: string): Promise<Token> {
    await this.findToken(tokenId)
    requireAdmin(this.actor)
    return this.#store.tokens.revoke(tokenId, this.actor.name)
  }

  /** Newest first. Without an organization, an operator gets the lines of all. */
  async listAuditEntries (query: AuditQuery): Promise<AuditEntry[]> {
    requireReadAccess(this.actor, query.tenantId, 'organization')
    return this.#store.listAuditEntries(query)
  }

  /** An organization's usage, by hour, day or month. */
  async getUsage (query: UsageQuery): Promise<UsageReport> {
    requireReadAccess(this.actor, query.tenantId, 'organization')
    return this.#store.usage.sumUsage(query)
  }

  /** The bill of an organization for a month such as `2030-01`. */
  async getBill (tenantId: string, month: string): Promise<Bill> {
    await this.findOrganization(tenantId)
    return this.#store.usage.getBill(tenantId, month)
  }

  async listGateways (): Promise<Gateway[]> {
    requireOperator(this.actor)
    return this.#store.gateways.list()
  }

  /** The webhooks of an organization for live and test data, oldest first. */
  async listWebhooks (tenantId: string): Promise<OwnedWebhook[]> {
    requireReadAccess(this.actor, tenantId, 'organization')
    const lists = await Promise.all(modes.map(mode => this.#store.webhooks.list({ tenantId, mode })))
    return lists.flat().map(webhook => ({ ...webhook, tenantId })).sort((a, b) => a.createdAt < b.createdAt ? -1 : 1)
  }

  async findWebhook (id: string): Promise<OwnedWebhook> {
    const { tenantId, mode } = await this.#requireWebhookScope(id)
    return { ...await this.#store.webhooks.find(id, { tenantId, mode }), tenantId }
  }

  /** @returns the webhook with its secret, which can't be read again later */
  async createWebhook ({ tenantId, mode, ...draft }: OwnedWebhookDraft): Promise<OwnedWebhook & NewWebhook> {
    requireReadAccess(this.actor, tenantId, 'organization')
    requireAdmin(this.actor)
    return { ...await this.#store.webhooks.create(draft, { tenantId, mode, by: this.actor.name }), tenantId }
  }

  async changeWebhook (id: string, changes: WebhookChanges): Promise<OwnedWebhook> {
    const owner = await this.#requireWebhookOwner(id)
    return { ...await this.#store.webhooks.change(id, owner, changes), tenantId: owner.tenantId }
  }

  async deleteWebhook (id: string): Promise<void> {
    await this.#store.webhooks.remove(id, await this.#requireWebhookOwner(id))
  }

  /** @returns the webhook with its new secret, which can't be read again later */
  async rollWebhook (id: string): Promise<OwnedWebhook & NewWebhook> {
    const owner = await this.#requireWebhookOwner(id)
    return { ...await this.#store.webhooks.roll(id, owner), tenantId: owner.tenantId }
  }

  async testWebhook (id: string): Promise<{ readonly eventId: string }> {
    return this.#store.webhooks.test(id, await this.#requireWebhookOwner(id))
  }

  /** Newest first. */
  async listDeliveries (id: string, query: DeliveryQuery): Promise<DeliveryPage> {
    return this.#store.webhooks.deliveries(id, await this.#requireWebhookScope(id), query)
  }

  /** Sends all events since a time again. @returns how many there are */
  async resendWebhook (id: string, since: string): Promise<{ readonly events: number }> {
    return this.#store.webhooks.resend(id, await this.#requireWebhookOwner(id), since)
  }

  async #requireWebhookScope (id: string): Promise<WebhookScope> {
    const scope = await this.#store.webhooks.locate(id)
    if (scope === undefined) throw notFound('webhook')
    requireReadAccess(this.actor, scope.tenantId, 'webhook')
    return scope
  }

  async #requireWebhookOwner (id: string): Promise<WebhookOwner> {
    const scope = await this.#requireWebhookScope(id)
    requireAdmin(this.actor)
    return { ...scope, by: this.actor.name }
  }

  async #requireMayChangeKey (keyId: string): Promise<void> {
    await this.findKey(keyId)
    requireAdmin(this.actor)
  }

  async #requireMayChangeMember (memberId: string): Promise<void> {
    await this.findMember(memberId)
    requireAdmin(this.actor)
  }
}

/** The control service with the permissions of an actor. */
export function createControlService (store: ControlStore, actor: Actor): ControlService {
  return new ControlService(store, actor)
}
