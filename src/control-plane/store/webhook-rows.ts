import type { Selectable } from 'kysely'
import { findUnknownType } from '../../events/to-events.js'
import type { Attempt } from '../../events/webhooks/delivery-queue.js'
import { maxTypes, type Delivery, type Webhook, type WebhookDraft } from '../../events/webhooks/webhook.js'
import { base32, randomString } from '../../keys/random-text.js'
import { isAllowedHost, type AddressRules } from '../../net/checked-connection.js'
import { omitNulls } from './entity-schema.js'
import { parseName } from './validate-name.js'
import { ControlError } from './control-error.js'
import type { WebhookDeliveryRow, WebhookRow } from './webhook-tables.js'

/** The columns of a webhook that clients set. */
type OwnColumns = Pick<WebhookRow, 'url' | 'types' | 'description' | 'enabled'>

/** A webhook without its secret. @param now leaves out a previous secret that no longer signs */
export function toWebhook (row: Selectable<WebhookRow>, now: Date): Webhook {
  const { id, mode, url, types, description, enabled, disabledReason, disabledAt, createdAt } = row
  const { previousSecretUntil: until } = row
  return omitNulls({
    id,
    mode,
    url,
    types: types.split(','),
    description,
    enabled: enabled === 1,
    disabledReason,
    disabledAt,
    createdAt,
    previousSecretUntil: until !== null && Date.parse(until) > now.getTime() ? until : null
  })
}

/** A delivery, for clients that know its webhook. */
export function toDelivery ({ webhookId, ...row }: Selectable<WebhookDeliveryRow>): Delivery {
  return omitNulls(row)
}

/** The row of an attempt. @param nextAttemptAt when its event is sent again; undefined if it is not */
export function toDeliveryRow (
  webhookId: string, attempt: Attempt, nextAttemptAt: string | undefined
): WebhookDeliveryRow {
  const { event, outcome, at, durationMs, responseStatus = null, responseText, error = null } = attempt
  return {
    id: `dlv_${randomString(base32, 26)}`,
    webhookId,
    eventId: event.id,
    eventType: event.type,
    outcome,
    attempt: event.attempt,
    at,
    durationMs,
    responseStatus,
    // PostgreSQL can't store it.
    responseText: responseText?.replaceAll('\0', '') ?? null,
    error,
    nextAttemptAt: nextAttemptAt ?? null
  }
}

/** The columns that a draft or change sets. @throws {ControlError} invalid */
export function toWebhookColumns (
  { url, types, description, enabled }: Partial<WebhookDraft>, rules: AddressRules
): Partial<OwnColumns> {
  return {
    ...url !== undefined && { url: parseUrl(url, rules) },
    ...types !== undefined && { types: parseTypes(types) },
    ...description !== undefined && { description: description.trim() === '' ? null : parseName(description) },
    ...enabled !== undefined && { enabled: enabled ? 1 : 0 }
  }
}

/** @throws {ControlError} invalid, with the name of the field, for a URL that nothing may be sent to */
export function parseUrl (text: string, rules: AddressRules, field = 'url'): string {
  const invalidUrl = (message: string) => new ControlError('invalid', `${field}: ${message}`, field)
  if (text.length > 2_048 || !URL.canParse(text)) throw invalidUrl('expected a valid URL of at most 2048 characters')
  const url = new URL(text)
  if (url.protocol !== 'https:') throw invalidUrl('expected a URL that begins with https://')
  if (url.username !== '' || url.password !== '') throw invalidUrl('expected a URL without user name and password')
  if (url.hash !== '') throw invalidUrl('expected a URL without a fragment')
  if (!isAllowedHost(url.hostname, rules)) {
    throw invalidUrl('expected a public address; others must be listed in the setting webhooks.privateNetworks')
  }
  return url.href
}

function parseTypes (types: readonly string[]): string {
  const unknown = findUnknownType(types)
  if (unknown !== undefined) throw new ControlError('invalid', `types[${unknown.at}]: ${unknown.message}`, 'types')
  if (types.length > 0 && types.length <= maxTypes) return [...new Set(types)].join(',')
  throw new ControlError('invalid', `types: expected 1 to ${maxTypes} types of events such as patients.* or *`, 'types')
}

/** Whether a webhook with these types receives events of a type: `*`, `patients.*` or `patients.created`. */
export function isReceived (types: string, eventType: string): boolean {
  const all = `${eventType.slice(0, eventType.lastIndexOf('.'))}.*`
  return types.split(',').some(type => type === '*' || type === eventType || type === all)
}
