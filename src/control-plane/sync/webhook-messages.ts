import { Type, type TSchema } from 'typebox'
import { modes } from '../../config/mode.js'
import {
  deliveryPageSchema,
  maxDeliveries,
  newWebhookSchema,
  resentSchema,
  testSchema,
  webhookChangesSchema,
  webhookDraftSchema,
  webhookSchema,
  type DeliveryQuery,
  type WebhookOwner,
  type Webhooks,
  type WebhookScope
} from '../../events/webhooks/webhook.js'
import { refusalReasons, type RefusalReason } from '../store/control-error.js'
import { lazyCheck, strictObject, type WireMessage } from './messages.js'

const id = Type.String({ pattern: '^[\\w-]{1,64}$' })
const scopeMembers = { tenantId: id, mode: Type.Enum(modes) }
const scope = Type.Object(scopeMembers satisfies WireMessage<WebhookScope>, strictObject)
const owner = Type.Object(
  { ...scopeMembers, by: Type.String({ pattern: '^[\\w:-]{1,100}$' }) } satisfies WireMessage<WebhookOwner>,
  strictObject
)
const page = Type.Object({
  count: Type.Integer({ minimum: 1, maximum: maxDeliveries }),
  before: Type.Optional(id)
} satisfies WireMessage<DeliveryQuery>, strictObject)

/** The message with the arguments of a call. */
const argumentsOf = (...things: readonly TSchema[]): TSchema =>
  Type.Unsafe({
    type: 'array',
    items: [...things],
    additionalItems: false,
    minItems: things.length,
    maxItems: things.length
  })

/** The JSON schemas use the format of documents for times. */
const formats = (schema: TSchema): TSchema =>
  JSON.parse(JSON.stringify(schema).replaceAll('"date-time"', '"iso-time"')) as TSchema

/** Every call that gateways make to {@link Webhooks}, by name: the arguments in their order, and the response. */
const calls: Readonly<Record<keyof Webhooks, readonly [request: TSchema, response: TSchema]>> = {
  create: [argumentsOf(webhookDraftSchema, owner), newWebhookSchema],
  list: [argumentsOf(scope), Type.Array(webhookSchema, { maxItems: 1_000 })],
  find: [argumentsOf(id, scope), webhookSchema],
  change: [argumentsOf(id, owner, webhookChangesSchema), webhookSchema],
  remove: [argumentsOf(id, owner), Type.Null()],
  roll: [argumentsOf(id, owner), newWebhookSchema],
  test: [argumentsOf(id, owner), testSchema],
  deliveries: [argumentsOf(id, scope, page), deliveryPageSchema],
  resend: [argumentsOf(id, owner, Type.String({ format: 'iso-time' })), resentSchema]
}

/** The names of all calls. */
export const webhookCalls = Object.keys(calls) as ReadonlyArray<keyof Webhooks>

/** The schema of the arguments of a call. */
export const webhookRequest = (name: keyof Webhooks): TSchema => formats(calls[name][0])

const refused = Type.Object({
  refused: Type.Object({
    reason: Type.Enum(refusalReasons),
    message: Type.String({ maxLength: 1_000 }),
    field: Type.Optional(Type.String({ maxLength: 100 }))
  }, strictObject)
}, strictObject)

/** A checked response of the control plane: of a call, or why it was refused. */
export type WebhookResponse =
  { readonly response: unknown } |
  { readonly refused: { readonly reason: RefusalReason, readonly message: string, readonly field?: string } }

/** The check of the response to each call. */
export const isWebhookResponse = Object.fromEntries(webhookCalls.map(name => [
  name,
  lazyCheck(Type.Union([Type.Object({ response: formats(calls[name][1]) }, strictObject), refused]))
])) as unknown as Readonly<Record<keyof Webhooks, (value: unknown) => value is WebhookResponse>>
