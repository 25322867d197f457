import { Type, type Static } from 'typebox'
import { modes } from '../../config/mode.js'
import { typePattern } from '../../fhir/names.js'
import { storedEventSchema } from '../event.js'
import type { WebhookOwner, WebhookScope } from '../webhooks/webhook.js'

/** The most subscriptions of an organization, separately for live and test. Each costs a connection and a queue. */
export const maxSubscriptions = 100

/** The form of the ids, which FHIR allows. */
export const subscriptionIdForm = '^sub-[a-z2-7]{26}$'

/** The shortest and longest interval of heartbeats, in seconds. */
export const heartbeatBounds = { minimum: 60, maximum: 604_800 } as const

/** The most events of one response to `$events`. */
export const maxListedEvents = 100

/**
 * The text that a read shows in place of the value of a header. An update that contains it does not change the value.
 */
export const hiddenValue = '*****'

/**
 * The headers that a subscription may have sent, which are for authentication: no header of the request itself can be
 * replaced.
 */
export const headerPattern = '^(?:[Aa]uthorization|[Xx]-[A-Za-z0-9-]{1,60}): ?[\\x21-\\x7e](?:[\\x20-\\x7e]*[\\x21-\\x7e])?$'

/** The most characters of each part; of contact as JSON. */
export const maxLengths = { endpoint: 2_048, header: 2_048, reason: 1_000, contact: 4_096 } as const

const strict = { additionalProperties: false }
const time = Type.String({ format: 'date-time' })
/** Of R4's unsignedInt and positiveInt. */
const maximum = 2_147_483_647

const draftFields = {
  /** The FHIR type of the records whose changes are sent. */
  type: Type.String({ pattern: `^${typePattern}$` }),
  /** The URL of the raw FHIR of the gateway that the client uses, for the references in notifications. */
  fhirBase: Type.String({ maxLength: 2_048 }),
  endpoint: Type.String({ maxLength: maxLengths.endpoint }),
  /** How much of a changed record is named: its id, or nothing. */
  content: Type.Enum(['id-only', 'empty'] as const),
  headers: Type.Array(Type.String({ pattern: headerPattern, maxLength: maxLengths.header }), { maxItems: 10 }),
  heartbeatSeconds: Type.Optional(Type.Integer(heartbeatBounds)),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum })),
  maxCount: Type.Optional(Type.Integer({ minimum: 1, maximum })),
  reason: Type.String({ maxLength: maxLengths.reason }),
  /** When the subscription is switched off, in UTC. */
  end: Type.Optional(time),
  /** The ContactPoints as JSON. */
  contact: Type.Optional(Type.String({ maxLength: maxLengths.contact }))
}

/** The schema of a {@link SubscriptionDraft}. */
export const subscriptionDraftSchema = Type.Object({
  ...draftFields,
  status: Type.Enum(['requested', 'active', 'off'] as const)
}, strict)

/** The schema of a {@link Subscription}. */
export const subscriptionSchema = Type.Object({
  ...draftFields,
  id: Type.String({ pattern: subscriptionIdForm }),
  mode: Type.Enum(modes),
  /** R4's: it waits for the handshake, is active, ended by an error, or is off. */
  status: Type.Enum(['requested', 'active', 'error', 'off'] as const),
  /** Why it was ended, for people. */
  error: Type.Optional(Type.String({ maxLength: 300 })),
  version: Type.Integer({ minimum: 1 }),
  lastUpdated: time,
  /** The number of events of its topic since it was created, whether they were delivered or not. */
  eventCount: Type.Integer({ minimum: 0 })
}, strict)

/** Which events, by their numbers, both inclusive; at most {@link maxListedEvents} are found, the oldest first. */
export const eventRangeSchema = Type.Object({
  since: Type.Optional(Type.Integer({ minimum: 0 })),
  until: Type.Optional(Type.Integer({ minimum: 0 }))
}, strict)

/** An event with its number in a subscription. */
export const numberedEventSchema = Type.Object({
  number: Type.Integer({ minimum: 1 }),
  event: storedEventSchema
}, strict)

/** A subscription as a client requests it. */
export type SubscriptionDraft = Readonly<Static<typeof subscriptionDraftSchema>>
/** A subscription as clients see it: the values of its headers are hidden. */
export type Subscription = Readonly<Static<typeof subscriptionSchema>>
export type EventRange = Readonly<Static<typeof eventRangeSchema>>
export type NumberedEvent = Readonly<Static<typeof numberedEventSchema>>

/** The replacement of a subscription. */
export interface SubscriptionReplacement {
  readonly draft: SubscriptionDraft
  /** Refuses the change as a conflict if this is no longer the version; 0 for any. */
  readonly version: number
}

/**
 * The topic-based subscriptions of organizations. One of another organization or mode is refused like one that does not
 * exist, and every refusal is a ControlError whose field is a path of the FHIR resource.
 */
export interface Subscriptions {
  readonly create: (draft: SubscriptionDraft, owner: WebhookOwner) => Promise<Subscription>
  /** Oldest first. */
  readonly list: (scope: WebhookScope) => Promise<readonly Subscription[]>
  readonly find: (id: string, scope: WebhookScope) => Promise<Subscription>
  /**
   * Replaces all but the topic. Unless the subscription stays active with the same endpoint and headers, or is off, the
   * handshake is made again.
   */
  readonly replace: (id: string, owner: WebhookOwner, replacement: SubscriptionReplacement) => Promise<Subscription>
  readonly remove: (id: string, owner: WebhookOwner) => Promise<void>
  /** The events that are still retained, and that have these numbers. */
  readonly events: (id: string, scope: WebhookScope, range: EventRange) => Promise<readonly NumberedEvent[]>
}
