import { createHash } from 'node:crypto'
import type { FhirElement } from '../../mappings/fhir.js'
import type { ChangeKind, StoredEvent } from '../event.js'
import type { NumberedEvent, Subscription } from './subscription.js'

/** The guide that subscriptions and their notifications follow, HL7's Subscriptions R5 Backport 1.1. */
const guide = 'http://hl7.org/fhir/uv/subscriptions-backport'

/** The URL of a profile or extension of the guide. */
export const toDefinitionUrl = (name: string): string => `${guide}/StructureDefinition/${name}`

/** The URL of an operation of the guide. */
export const toOperationUrl = (name: string): string => `${guide}/OperationDefinition/backport-subscription-${name}`

/** The canonical URL of the topic of a resource type: each change of a record of that type. */
export const toTopicUrl = (fhirBase: string, type: string): string => `${fhirBase}/SubscriptionTopic/${type}`

/** The codes of http://hl7.org/fhir/ValueSet/subscription-notification-type. */
type NoticeType = 'handshake' | 'heartbeat' | 'event-notification' | 'query-status' | 'query-event'

/** The members of a subscription that its notifications show. */
export type NotifiedSubscription =
  Pick<Subscription, 'id' | 'fhirBase' | 'type' | 'content' | 'status' | 'error'>

/** The content of a status resource. */
export interface Notice {
  readonly type: NoticeType
  /** Events of the topic since the subscription was created. */
  readonly eventCount: number
  readonly events?: readonly NumberedEvent[]
}

/**
 * The status of a subscription, as the profile backport-subscription-status-r4 of Parameters. With the content `empty`
 * it names neither topic nor records.
 */
export function buildStatus (
  { id, fhirBase, type, content, status, error }: NotifiedSubscription,
  { type: notice, eventCount, events = [] }: Notice
): FhirElement {
  return {
    resourceType: 'Parameters',
    meta: { profile: [toDefinitionUrl('backport-subscription-status-r4')] },
    parameter: [
      { name: 'subscription', valueReference: { reference: `${fhirBase}/Subscription/${id}` } },
      ...content === 'empty' ? [] : [{ name: 'topic', valueCanonical: toTopicUrl(fhirBase, type) }],
      { name: 'status', valueCode: status },
      { name: 'type', valueCode: notice },
      { name: 'events-since-subscription-start', valueString: String(eventCount) },
      ...events.map(({ number, event }) => ({
        name: 'notification-event',
        part: [
          { name: 'event-number', valueString: String(number) },
          { name: 'timestamp', valueInstant: event.createdAt },
          ...content === 'empty' ? [] : [{ name: 'focus', valueReference: { reference: toRecordUrl(fhirBase, event) } }]
        ]
      })),
      ...error === undefined ? [] : [{ name: 'error', valueCodeableConcept: { text: error } }]
    ]
  }
}

/**
 * A notification: a Bundle of the type history that begins with the status, and names the changed records unless the
 * content is `empty`. It has no record.
 * @param timestamp ISO 8601
 */
export function buildNotification (
  subscription: NotifiedSubscription, notice: Notice, timestamp: string
): FhirElement {
  const { id, fhirBase, content } = subscription
  const named = content === 'empty' ? [] : notice.events ?? []
  return {
    resourceType: 'Bundle',
    meta: { profile: [toDefinitionUrl('backport-subscription-notification-r4')] },
    type: 'history',
    timestamp,
    entry: [
      {
        fullUrl: `urn:uuid:${deriveUuid(`${id} ${notice.type} ${notice.events?.[0]?.event.id ?? timestamp}`)}`,
        resource: buildStatus(subscription, notice),
        request: { method: 'GET', url: `${fhirBase}/Subscription/${id}/$status` },
        response: { status: '200' }
      },
      ...named.map(({ event }) => toBundleEntry(fhirBase, event))
    ]
  }
}

const toRecordUrl = (fhirBase: string, { resourceType, resourceId }: StoredEvent): string =>
  `${fhirBase}/${resourceType}/${resourceId}`

const writes: Readonly<Record<ChangeKind, readonly [method: string, status: string]>> = {
  created: ['POST', '201'],
  updated: ['PUT', '200'],
  deleted: ['DELETE', '204']
}

function toBundleEntry (fhirBase: string, event: StoredEvent): FhirElement {
  const [method, status] = writes[event.type.slice(event.type.lastIndexOf('.') + 1) as ChangeKind]
  const { resourceType, resourceId } = event
  return {
    fullUrl: toRecordUrl(fhirBase, event),
    request: { method, url: method === 'POST' ? resourceType : `${resourceType}/${resourceId}` },
    response: { status }
  }
}

/** A UUID (RFC 9562, version 8), the same for the same text: each attempt sends the same notification. */
function deriveUuid (text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x80
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
