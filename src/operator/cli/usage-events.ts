import { createHash } from 'node:crypto'
import type { UsageLine } from '../../limits/usage.js'

/**
 * The number of requests in an hour that have all other members of `data` in common, as an event of CloudEvents 1.0 in
 * its JSON format (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md).
 */
interface UsageCloudEvent {
  readonly specversion: '1.0'
  /** The same whenever the same line of the same ledger is exported, so that a receiver takes it once. */
  readonly id: string
  readonly source: string
  readonly type: 'clinigate.usage'
  /** The organization's id. */
  readonly subject: string
  /** The start of the hour, in UTC. */
  readonly time: string
  readonly datacontenttype: 'application/json'
  readonly data: Pick<UsageLine, 'mode' | 'keyId' | 'resource' | 'interaction' | 'outcome' | 'isCounted' | 'isOverage'>
    & { readonly requests: number }
}

/** The event of a line of a ledger. Its id depends on everything but the count. */
export function toUsageEvent (ledgerId: string, line: UsageLine): UsageCloudEvent {
  const { tenantId, hour, mode, keyId, resource, interaction, outcome, isCounted, isOverage, count } = line
  const names = [ledgerId, hour, tenantId, mode, keyId, resource, interaction, outcome, isCounted, isOverage]
  return {
    specversion: '1.0',
    // Stripe takes identifiers of at most 100 characters.
    id: createHash('sha256').update(JSON.stringify(names)).digest('hex'),
    source: `urn:clinigate:usage-ledger:${ledgerId}`,
    type: 'clinigate.usage',
    subject: tenantId,
    time: hour,
    datacontenttype: 'application/json',
    data: { mode, keyId, resource, interaction, outcome, isCounted, isOverage, requests: count }
  }
}
