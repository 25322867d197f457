import { Failure, fieldIssue, type Issue } from '../../../envelope/failures.js'
import {
  headerPattern,
  heartbeatBounds,
  maxLengths,
  type Subscription,
  type SubscriptionDraft
} from '../../../events/subscriptions/subscription.js'
import { toDefinitionUrl, toTopicUrl } from '../../../events/subscriptions/notification.js'
import { isTenantType } from '../../../fhir/resource-types.js'
import { toPlainNumbers } from '../../../json/json.js'
import type { FhirElement, FhirResource, StoredResource } from '../../../mappings/fhir.js'
import { validateStructure } from '../../../mappings/r4/structure.js'

/** The profile of the guide that every subscription here has. */
export const subscriptionProfile = toDefinitionUrl('backport-subscription')

const payloadType = 'application/fhir+json'
const contentUrl = toDefinitionUrl('backport-payload-content')
const numberExtensions = {
  [toDefinitionUrl('backport-heartbeat-period')]: 'heartbeatSeconds',
  [toDefinitionUrl('backport-timeout')]: 'timeoutSeconds',
  [toDefinitionUrl('backport-max-count')]: 'maxCount'
} as const

/** A subscription as the FHIR resource that clients see. */
export function toSubscriptionResource (subscription: Subscription, fhirBase: string): StoredResource {
  const { id, type, status, endpoint, content, headers, contact, end, reason, error } = subscription
  const { version, lastUpdated } = subscription
  const extension = Object.entries(numberExtensions).flatMap(([url, name]) => {
    const value = subscription[name]
    if (value === undefined) return []
    return [{ url, [name === 'maxCount' ? 'valuePositiveInt' : 'valueUnsignedInt']: value }]
  })
  return {
    resourceType: 'Subscription',
    id,
    meta: { versionId: String(version), lastUpdated, profile: [subscriptionProfile] },
    status,
    ...contact !== undefined && { contact: JSON.parse(contact) as unknown },
    ...end !== undefined && { end },
    reason,
    criteria: toTopicUrl(fhirBase, type),
    ...error !== undefined && { error },
    channel: {
      ...extension.length > 0 && { extension },
      type: 'rest-hook',
      endpoint,
      payload: payloadType,
      _payload: { extension: [{ url: contentUrl, valueCode: content }] },
      ...headers.length > 0 && { header: headers }
    }
  }
}

/**
 * The subscription that a Subscription resource describes.
 * @throws {Failure} VALIDATION_ERROR for content that R4 or the guide does not define, and for features that are not
 * supported here
 */
export function parseSubscription (sent: FhirResource, fhirBase: string): SubscriptionDraft {
  const faults = validateStructure(sent)
  if (faults.length > 0) throw new Failure('VALIDATION_ERROR', { issues: faults })
  const resource = toPlainNumbers(sent)
  const issues: Issue[] = []
  const refuse = (path: string, text: string): void => { issues.push(fieldIssue(`Subscription.${path}`, text)) }
  const channel = resource.channel as FhirElement
  checkMembers(resource, { known: topMembers, path: '', refuse })
  checkMembers(channel, { known: channelMembers, path: 'channel.', refuse })
  checkMeta(resource.meta, refuse)
  const { status, reason, end, contact } = resource as FhirElement
  if (!['requested', 'active', 'off'].includes(status as string)) {
    refuse('status', 'expected requested, to start the subscription or to start it again, active or off')
  }
  const type = findTopicType(resource.criteria, fhirBase)
  if (type === undefined) {
    const example = toTopicUrl(fhirBase, 'Patient')
    refuse('criteria', `expected a topic of this gateway, such as ${example}; its CapabilityStatement lists them`)
  }
  const read = readChannel(channel, refuse)
  const checkLength = (name: 'reason' | 'contact', text: string = ''): void => {
    if (text.length > maxLengths[name]) refuse(name, `expected at most ${maxLengths[name]} characters`)
  }
  checkLength('reason', reason as string)
  checkLength('contact', JSON.stringify(contact))
  if (issues.length > 0) throw new Failure('VALIDATION_ERROR', { issues })
  return {
    type: type!,
    fhirBase,
    ...read,
    status: status as SubscriptionDraft['status'],
    reason: reason as string,
    ...end !== undefined && { end: end as string },
    ...contact !== undefined && { contact: JSON.stringify(contact) }
  }
}

type Refuse = (path: string, text: string) => void

/** `error` is the gateway's, so an update may send back what was read. */
const topMembers: ReadonlySet<string> = new Set([
  'resourceType', 'id', 'meta', 'status', 'contact', 'end', 'reason', 'criteria', '_criteria', 'error', 'channel'
])
const channelMembers: ReadonlySet<string> = new Set([
  'extension', 'type', '_type', 'endpoint', 'payload', '_payload', 'header'
])

function checkMembers (
  element: FhirElement,
  { known, path, refuse }: { readonly known: ReadonlySet<string>, readonly path: string, readonly refuse: Refuse }
): void {
  // Their names are R4's, or the check of the structure had refused them.
  for (const name of Object.keys(element)) if (!known.has(name)) refuse(`${path}${name}`, 'is not supported; leave it out')
  if (element._criteria !== undefined) {
    refuse('criteria.extension', 'filters are not supported; subscribe to all changes of the topic')
  }
  if (element._type !== undefined) refuse('channel.type.extension', 'other channels are not supported; use rest-hook')
}

/** Its version and time are the gateway's, so an update may send back what was read. */
function checkMeta (meta: unknown, refuse: Refuse): void {
  if (meta === undefined) return
  const { versionId: _, lastUpdated: __, profile = [], ...others } = meta as FhirElement
  for (const name of Object.keys(others)) refuse(`meta.${name}`, 'is not supported; leave it out')
  if (!(profile as readonly unknown[]).every(url => url === subscriptionProfile)) {
    refuse('meta.profile', `expected ${subscriptionProfile}`)
  }
}

function findTopicType (criteria: unknown, fhirBase: string): string | undefined {
  const prefix = toTopicUrl(fhirBase, '')
  if (typeof criteria !== 'string' || !criteria.startsWith(prefix)) return undefined
  const type = criteria.slice(prefix.length)
  return isTenantType(type) ? type : undefined
}

type Channel = Pick<
  SubscriptionDraft, 'endpoint' | 'content' | 'headers' | 'heartbeatSeconds' | 'timeoutSeconds' | 'maxCount'
>

function readChannel (channel: FhirElement, refuse: Refuse): Channel {
  const { type, endpoint, payload, _payload, header = [] } = channel
  if (type !== 'rest-hook') refuse('channel.type', 'expected rest-hook, the only channel that is supported')
  if (typeof endpoint !== 'string') refuse('channel.endpoint', 'is missing; expected a URL that begins with https://')
  if (payload !== payloadType) refuse('channel.payload', `expected ${payloadType}`)
  const content = findContent(_payload)
  if (content === undefined) {
    refuse('channel.payload.extension', `expected ${contentUrl} alone, with the code id-only or empty`)
  }
  const headers = header as readonly string[]
  headers.forEach((each, at) => {
    if (new RegExp(headerPattern).test(each) && each.length <= maxLengths.header) return
    refuse(`channel.header[${at}]`, 'expected Authorization or a name that begins with X-, a colon and a value, with at most 2048 characters')
  })
  if (headers.length > 10) refuse('channel.header', 'expected at most 10 headers')
  const numbers = readNumbers(channel.extension, refuse)
  return { endpoint: endpoint as string, content: content!, headers: [...headers], ...numbers }
}

function findContent (payload: unknown): SubscriptionDraft['content'] | undefined {
  const { extension = [], ...others } = (payload ?? {}) as FhirElement
  const [{ url, valueCode } = {} as FhirElement, ...more] = extension as readonly FhirElement[]
  const isAlone = Object.keys(others).length + more.length === 0
  return isAlone && url === contentUrl && (valueCode === 'id-only' || valueCode === 'empty') ? valueCode : undefined
}

function readNumbers (
  extensions: unknown = [], refuse: Refuse
): Pick<Channel, 'heartbeatSeconds' | 'timeoutSeconds' | 'maxCount'> {
  const numbers: { -readonly [name in typeof numberExtensions[string]]?: number } = {}
  ;(extensions as readonly FhirElement[]).forEach((extension, at) => {
    const path = `channel.extension[${at}]`
    const name = numberExtensions[extension.url as string]
    if (name === undefined) return refuse(path, 'is not supported; leave it out')
    if (name in numbers) return refuse(path, 'is given twice')
    const value = extension[name === 'maxCount' ? 'valuePositiveInt' : 'valueUnsignedInt']
    const { minimum, maximum } = name === 'heartbeatSeconds' ? heartbeatBounds : { minimum: 1, maximum: 2_147_483_647 }
    if (typeof value === 'number' && value >= minimum && value <= maximum) numbers[name] = value
    else refuse(path, `expected a number from ${minimum} to ${maximum}, as the guide's type`)
  })
  return numbers
}
