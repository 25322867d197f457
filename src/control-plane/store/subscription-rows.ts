import type { Selectable } from 'kysely'
import { changes } from '../../events/event.js'
import { hiddenValue, type Subscription, type SubscriptionDraft } from '../../events/subscriptions/subscription.js'
import { eventType } from '../../events/to-events.js'
import { ControlError } from './control-error.js'
import type { WebhookRow } from './webhook-tables.js'

/** What the column `settings` of a subscription has as JSON. */
type Settings = Pick<
  Subscription,
  'type' | 'fhirBase' | 'content' | 'heartbeatSeconds' | 'timeoutSeconds' | 'maxCount' | 'reason' | 'contact' |
  'version' | 'lastUpdated'
>

/** The settings that a draft and the version make. */
export function formatSettings (
  draft: SubscriptionDraft, { version, lastUpdated }: Pick<Subscription, 'version' | 'lastUpdated'>
): string {
  const { type, fhirBase, content, heartbeatSeconds, timeoutSeconds, maxCount, reason, contact } = draft
  const settings: Settings = {
    type,
    fhirBase,
    content,
    ...heartbeatSeconds !== undefined && { heartbeatSeconds },
    ...timeoutSeconds !== undefined && { timeoutSeconds },
    ...maxCount !== undefined && { maxCount },
    reason,
    ...contact !== undefined && { contact },
    version,
    lastUpdated
  }
  return JSON.stringify(settings)
}

/** The settings of the row of a subscription. */
export function settingsOf ({ settings }: Pick<WebhookRow, 'settings'>): Settings {
  return JSON.parse(settings!) as Settings
}

/** The state of a subscription, in R4's terms. */
export function statusOf (
  { awaitsHandshake, enabled, disabledReason }: Pick<WebhookRow, 'awaitsHandshake' | 'enabled' | 'disabledReason'>
): Subscription['status'] {
  if (awaitsHandshake === 1) return 'requested'
  if (enabled === 1) return 'active'
  return disabledReason === null ? 'off' : 'error'
}

/**
 * A subscription as clients see it.
 * @param headers undefined if this process can't decrypt them
 */
export function toSubscription (
  row: Selectable<WebhookRow>,
  { headers = [], eventCount }: { readonly headers: readonly string[] | undefined, readonly eventCount: number }
): Subscription {
  const { id, mode, url: endpoint, endsAt, disabledReason } = row
  return {
    id,
    mode,
    endpoint,
    ...settingsOf(row),
    headers: headers.map(header => `${nameOf(header)}: ${hiddenValue}`),
    status: statusOf(row),
    ...endsAt !== null && { end: endsAt },
    ...disabledReason !== null && { error: disabledReason },
    eventCount
  }
}

/**
 * The headers of an update: a value that a read hid stays the stored one.
 * @throws {ControlError} invalid
 */
export function mergeHeaders (requested: readonly string[], stored: readonly string[] | undefined): readonly string[] {
  return requested.map((header, at) => {
    if (header.slice(nameOf(header).length + 1).trim() !== hiddenValue) return header
    const kept = stored?.find(each => nameOf(each).toLowerCase() === nameOf(header).toLowerCase())
    if (kept !== undefined) return kept
    throw new ControlError('invalid', `expected the value of the header, since ${hiddenValue} hides one that is not stored for this server`,
      `channel.header[${at}]`)
  })
}

/** The headers by their names, as a request sends them. */
export function toHeaders (headers: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(headers.map(header => [nameOf(header), header.slice(nameOf(header).length + 1).trim()]))
}

const nameOf = (header: string): string => header.slice(0, header.indexOf(':'))

/** The types of the events of a topic. */
export const typesOfTopic = (type: string): readonly string[] => changes.map(change => eventType(type, change))

/** The same as a filter of a webhook. */
export const filterOfTopic = (type: string): string => eventType(type, 'created').replace(/created$/, '*')
