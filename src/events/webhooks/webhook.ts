import { Type, type Static } from 'typebox'
import { modes } from '../../config/mode.js'
import { idSchema } from '../../keys/random-text.js'
import { maxAttempts } from './retry-schedule.js'

/** The most webhooks of an organization, separately for live and test. Each costs a connection and a queue. */
export const maxWebhooks = 20

/** How long the previous secret still signs after a roll. */
export const overlapMs = 24 * 3_600_000

/** The most text of a receiver's response that is stored. */
export const maxResponseBytes = 1_024

/** The forms of the ids of webhooks and of deliveries. */
export const webhookIdForm = '^whk_[a-z2-7]{26}$'
export const deliveryIdForm = '^dlv_[a-z2-7]{26}$'

/** The maximum number of types of events that a webhook receives. */
export const maxTypes = 200

const strict = { additionalProperties: false }
const time = (description: string) => Type.String({ format: 'date-time', description })

const url = Type.String({
  description: 'The https URL that events are sent to, without credentials and fragment',
  minLength: 9,
  maxLength: 2_048,
  examples: ['https://app.example.org/hooks/clinigate']
})
const types = Type.Array(
  Type.String({
    description: 'A type of event such as patients.created, patients.* for all of a resource, or * for all',
    // Whether there is such a type is checked where the webhook is stored, which suggests the one that was meant.
    pattern: '^[A-Za-z0-9.*-]{1,128}$'
  }),
  {
    description: 'Which events are sent: types such as patients.created, patients.* for all of a resource, or * for all',
    minItems: 1,
    maxItems: maxTypes,
    examples: [['patients.*', 'appointments.created']]
  }
)
const description = Type.String({ description: 'What the webhook is for', maxLength: 200 })
const enabled = Type.Boolean({ description: 'Whether events are sent; while it is false they wait' })

/** The fields of a webhook that a client sets. */
export const webhookDraftSchema = Type.Object({
  url,
  types: Type.Optional(types),
  description: Type.Optional(description),
  enabled: Type.Optional(enabled)
}, strict)

/** The fields that a client changes. */
export const webhookChangesSchema = Type.Object({
  url: Type.Optional(url),
  types: Type.Optional(types),
  description: Type.Optional(description),
  enabled: Type.Optional(enabled)
}, { ...strict, minProperties: 1 })

const webhookFields = {
  id: Type.String({ pattern: webhookIdForm, examples: ['whk_3kq7zr2m5xwd4nhb6vcj2ftlqe'] }),
  mode: Type.Enum(modes, { description: 'Whether it gets the events of live or of test data' }),
  url,
  types,
  description: Type.Optional(description),
  enabled,
  disabledReason: Type.Optional(
    Type.String({ description: 'Why the service disabled it; absent if it did not', maxLength: 200 })
  ),
  disabledAt: Type.Optional(time('When the service disabled it')),
  createdAt: time('When it was created'),
  previousSecretUntil: Type.Optional(time('Until when the secret from before the last roll signs too'))
}

/** A webhook as clients see it, without its secret. */
export const webhookSchema = Type.Object(webhookFields, strict)

/** A webhook with its secret, which is shown once. */
export const newWebhookSchema = Type.Object({
  ...webhookFields,
  secret: Type.String({ description: 'Verifies the signature of each event; shown only here', pattern: '^whsec_' })
}, strict)

/** The most deliveries of a page. */
export const maxDeliveries = 100

/** How an attempt to deliver an event ended. */
const deliveryOutcomes = ['delivered', 'failed'] as const

/** One attempt to deliver an event. */
export const deliverySchema = Type.Object({
  id: Type.String({ pattern: deliveryIdForm }),
  eventId: Type.String({ pattern: '^evt_[a-z0-9]{26}$' }),
  eventType: Type.String({ maxLength: 200 }),
  outcome: Type.Enum(deliveryOutcomes),
  attempt: Type.Integer({ description: `Which attempt it was, of at most ${maxAttempts}`, minimum: 1 }),
  at: time('When the attempt began'),
  durationMs: Type.Integer({ minimum: 0 }),
  responseStatus: Type.Optional(Type.Integer({ description: 'HTTP status of the receiver; absent without a response' })),
  responseText: Type.Optional(
    Type.String({ description: `The first ${maxResponseBytes} bytes of a response that was not 2xx` })
  ),
  error: Type.Optional(Type.String({ description: 'Why there was no response', maxLength: 200 })),
  nextAttemptAt: Type.Optional(time('When the event is sent again; absent if it is not'))
}, strict)

/** Deliveries, newest first; `before` is the id of the last one of the page before. */
export const deliveryPageSchema = Type.Object({
  deliveries: Type.Array(deliverySchema, { maxItems: maxDeliveries }),
  hasMore: Type.Boolean()
}, strict)

/** The event that a test sends. */
export const testSchema = Type.Object({ eventId: Type.String({ pattern: '^evt_[a-z0-9]{26}$' }) }, strict)

/** From when events are sent again. */
export const resendSchema = Type.Object({ since: time('The events since then are sent again') }, strict)

/** How many events are sent again, including those of types that the webhook does not receive. */
export const resentSchema = Type.Object({ events: Type.Integer({ minimum: 0 }) }, strict)

export type Webhook = Readonly<Static<typeof webhookSchema>>
export type NewWebhook = Readonly<Static<typeof newWebhookSchema>>
export type WebhookDraft = Readonly<Static<typeof webhookDraftSchema>>
export type WebhookChanges = Readonly<Static<typeof webhookChangesSchema>>
export type Delivery = Readonly<Static<typeof deliverySchema>>
export type DeliveryPage = Readonly<Static<typeof deliveryPageSchema>>

const scopeMembers = { tenantId: idSchema, mode: Type.Enum(modes) }

/** Whose webhooks: an organization's for live or for test data. */
export const webhookScopeSchema = Type.Object(scopeMembers, strict)
export type WebhookScope = Readonly<Static<typeof webhookScopeSchema>>

/** The same, with the name of the person or program that makes a change, for the audit trail. */
export const webhookOwnerSchema = Type.Object(
  { ...scopeMembers, by: Type.String({ pattern: '^[\\w:-]{1,100}$' }) },
  strict
)
export type WebhookOwner = Readonly<Static<typeof webhookOwnerSchema>>

/** Which deliveries: at most `count`, older than the one with the id `before`. */
export const deliveryQuerySchema = Type.Object({
  count: Type.Integer({ minimum: 1, maximum: maxDeliveries }),
  before: Type.Optional(idSchema)
}, strict)
export type DeliveryQuery = Readonly<Static<typeof deliveryQuerySchema>>

/**
 * The webhooks of organizations. A webhook of another organization or mode is refused like one that does not exist, and
 * every refusal is a ControlError.
 */
export interface Webhooks {
  readonly create: (draft: WebhookDraft, owner: WebhookOwner) => Promise<NewWebhook>
  /** Oldest first. */
  readonly list: (scope: WebhookScope) => Promise<readonly Webhook[]>
  readonly find: (id: string, scope: WebhookScope) => Promise<Webhook>
  /** Enabling also restarts the schedule of events that were not delivered. */
  readonly change: (id: string, owner: WebhookOwner, changes: WebhookChanges) => Promise<Webhook>
  readonly remove: (id: string, owner: WebhookOwner) => Promise<void>
  /** Makes a new secret. The previous one signs too for {@link overlapMs}. */
  readonly roll: (id: string, owner: WebhookOwner) => Promise<NewWebhook>
  /** Sends a test event soon, once, whether the webhook is enabled or not. */
  readonly test: (id: string, owner: WebhookOwner) => Promise<Readonly<Static<typeof testSchema>>>
  readonly deliveries: (id: string, scope: WebhookScope, query: DeliveryQuery) => Promise<DeliveryPage>
  /** Sends all events since a time again, with the ids that they had. */
  readonly resend: (id: string, owner: WebhookOwner, since: string) => Promise<Readonly<Static<typeof resentSchema>>>
}
