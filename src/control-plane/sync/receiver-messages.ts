import { Type, type TSchema } from 'typebox'
import {
  eventRangeSchema,
  maxListedEvents,
  maxSubscriptions,
  numberedEventSchema,
  subscriptionDraftSchema,
  subscriptionSchema,
  type Subscriptions
} from '../../events/subscriptions/subscription.js'
import {
  deliveryPageSchema,
  deliveryQuerySchema as page,
  newWebhookSchema,
  resentSchema,
  testSchema,
  webhookChangesSchema,
  webhookDraftSchema,
  webhookOwnerSchema as owner,
  webhookSchema,
  webhookScopeSchema as scope,
  type Webhooks
} from '../../events/webhooks/webhook.js'
import { refusalReasons, type RefusalReason } from '../store/control-error.js'
import { idSchema as id } from '../../keys/random-text.js'
import { toArgumentsSchema, createLazyCheck, strictObject } from './messages.js'

/** The arguments of a call in their order, and its response. */
type Call = readonly [request: TSchema, response: TSchema]

const webhooks: Readonly<Record<keyof Webhooks, Call>> = {
  create: [toArgumentsSchema(webhookDraftSchema, owner), newWebhookSchema],
  list: [toArgumentsSchema(scope), Type.Array(webhookSchema, { maxItems: 1_000 })],
  find: [toArgumentsSchema(id, scope), webhookSchema],
  change: [toArgumentsSchema(id, owner, webhookChangesSchema), webhookSchema],
  remove: [toArgumentsSchema(id, owner), Type.Null()],
  roll: [toArgumentsSchema(id, owner), newWebhookSchema],
  test: [toArgumentsSchema(id, owner), testSchema],
  deliveries: [toArgumentsSchema(id, scope, page), deliveryPageSchema],
  resend: [toArgumentsSchema(id, owner, Type.String({ format: 'date-time' })), resentSchema]
}

const subscriptions: Readonly<Record<keyof Subscriptions, Call>> = {
  create: [toArgumentsSchema(subscriptionDraftSchema, owner), subscriptionSchema],
  list: [toArgumentsSchema(scope), Type.Array(subscriptionSchema, { maxItems: maxSubscriptions })],
  find: [toArgumentsSchema(id, scope), subscriptionSchema],
  replace: [
    toArgumentsSchema(
      id,
      owner,
      Type.Object(
        {
          draft: subscriptionDraftSchema,
          version: Type.Integer({ minimum: 0 })
        },
        strictObject
      )
    ),
    subscriptionSchema
  ],
  remove: [toArgumentsSchema(id, owner), Type.Null()],
  events: [
    toArgumentsSchema(id, scope, eventRangeSchema),
    Type.Array(numberedEventSchema, { maxItems: maxListedEvents })
  ]
}

/** The operations of gateways on the receivers of events, by the path below that of the link. */
export interface Receivers {
  readonly webhooks: Webhooks
  readonly subscriptions: Subscriptions
}

const calls: Readonly<Record<keyof Receivers, Readonly<Record<string, Call>>>> = { webhooks, subscriptions }

/** The path and name of every call. */
export const receiverCalls = Object.entries(calls).flatMap(([path, named]) =>
  Object.keys(named).map(name => [path as keyof Receivers, name] as const))

/** The schema of the arguments of a call. */
export const getRequestSchema = (path: keyof Receivers, name: string): TSchema => calls[path][name]![0]

const refused = Type.Object({
  refused: Type.Object({
    reason: Type.Enum(refusalReasons),
    message: Type.String({ maxLength: 1_000 }),
    field: Type.Optional(Type.String({ maxLength: 100 }))
  }, strictObject)
}, strictObject)

/** A checked response of the control plane: of a call, or why it was refused. */
export type CallResponse =
  { readonly response: unknown } |
  { readonly refused: { readonly reason: RefusalReason, readonly message: string, readonly field?: string } }

const checks = new Map(receiverCalls.map(([path, name]) => [
  `${path}/${name}`,
  createLazyCheck(Type.Union([Type.Object({ response: calls[path][name]![1] }, strictObject), refused]))
]))

/** Whether this is a response to a call. */
export function isCallResponse (path: keyof Receivers, name: string, value: unknown): value is CallResponse {
  return checks.get(`${path}/${name}`)!(value)
}
