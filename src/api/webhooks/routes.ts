import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type, type Static, type TSchema } from 'typebox'
import { rethrowAsFailure } from '../../control-plane/store/control-error.js'
import { plainTypes } from '../../envelope/body.js'
import { createBodyCheck, createQueryCheck } from '../../envelope/checked-input.js'
import { Failure, type FailureCode, type Issue } from '../../envelope/failures.js'
import {
  commonFailures,
  describeRoute,
  referToHeader,
  buildContent,
  buildPageSchema,
  referToParameter,
  referTo,
  buildResponses,
  bodyFailures,
  type JsonSchema
} from '../../envelope/openapi-responses.js'
import { getRawQuery, parseCount, requireNoQuery } from '../../envelope/query.js'
import { howToSwitchOn } from '../../events/event.js'
import { requireWebhookScope } from '../../keys/scopes.js'
import type { Caller } from '../../keys/caller.js'
import { quotaExempt } from '../../limits/monthly-quota.js'
import {
  deliveryIdForm,
  deliverySchema,
  newWebhookSchema,
  resendSchema,
  resentSchema,
  testSchema,
  webhookChangesSchema,
  webhookDraftSchema,
  webhookIdForm,
  webhookSchema,
  type Webhooks,
  type WebhookOwner
} from '../../events/webhooks/webhook.js'

/** The options of the routes. */
interface WebhookRoutesOptions {
  readonly webhooks: Webhooks
  /** Whether the gateway writes events; without, webhooks can be prepared only. */
  readonly hasEvents: boolean
}

type WithId = FastifyRequest<{ Params: { id: string } }>

const path = '/webhooks'
const itemPath = `${path}/:id`

const defaultCount = '20'
const webhookId = new RegExp(webhookIdForm)
const deliveryId = new RegExp(deliveryIdForm)

const listQuery = Type.Object({
  count: Type.Optional(Type.String()),
  cursor: Type.Optional(Type.String())
}, { additionalProperties: false })

/**
 * `/v1/webhooks`: the webhooks of the caller's organization and mode, for keys with the scope `webhooks`. Other
 * webhooks are reported as missing.
 */
export async function webhookRoutes (
  scope: FastifyInstance, { webhooks, hasEvents }: WebhookRoutesOptions
): Promise<void> {
  await scope.register(async routes => {
    for (const [name, schema] of Object.entries(schemas)) routes.addSchema({ ...schema, $id: name })
    routes.addHook('onRequest', async ({ caller }) => requireWebhookScope(caller))
    collectionRoutes(routes, { webhooks, hasEvents })
    itemRoutes(routes, webhooks)
    deliveryRoutes(routes, webhooks)
  })
}

/** The schemas to which the descriptions of the routes refer. */
const schemas = {
  Webhook: webhookSchema,
  NewWebhook: newWebhookSchema,
  WebhookCreate: webhookDraftSchema,
  WebhookChange: webhookChangesSchema,
  WebhookDelivery: deliverySchema,
  WebhookAction: { type: 'object', additionalProperties: false },
  WebhookResend: resendSchema
}

/** These routes check the scope themselves, and cost nothing of the month's quota. */
const config = { ...quotaExempt.config, effect: 'of the record' } as const

const describe = (description: Omit<Parameters<typeof describeRoute>[0], 'tags'>) =>
  ({ config, ...describeRoute({ tags: ['webhooks'], ...description }) })
const itemParameters = { path: { id: { ...webhookSchema.properties.id, description: 'The id of the webhook.' } } }
const describeBody = (name: string): JsonSchema => buildContent(plainTypes, { schema: referTo(name) })
const itemFailures: readonly FailureCode[] = [...commonFailures, 'NOT_FOUND']
const itemChangeFailures = [...itemFailures, ...bodyFailures]

const described = {
  list: describe({
    operationId: 'searchWebhooks',
    summary: 'List webhooks',
    description: 'All webhooks of the organization and mode, oldest first, on one page.',
    responses: buildResponses(
      { status: 200, description: 'All webhooks.', data: buildPageSchema(referTo('Webhook')) },
      commonFailures
    )
  }),
  create: describe({
    operationId: 'createWebhook',
    summary: 'Create a webhook',
    description: 'Events from now on are sent. The secret is shown only in this response.',
    body: describeBody('WebhookCreate'),
    responses: buildResponses(
      {
        status: 201, description: 'Created.', data: referTo('NewWebhook'), headers: { Location: referToHeader('Location') }
      },
      [...commonFailures, ...bodyFailures]
    )
  }),
  read: describe({
    ...itemParameters,
    operationId: 'readWebhook',
    summary: 'Read a webhook',
    responses: buildResponses(
      { status: 200, description: 'The webhook, without its secret.', data: referTo('Webhook') },
      itemFailures
    )
  }),
  update: describe({
    ...itemParameters,
    operationId: 'updateWebhook',
    summary: 'Update a webhook',
    description:
      'Changes the given fields. While a webhook is disabled, its events wait. Enabling it sends them, as far as they are retained, and those again that failed.',
    body: describeBody('WebhookChange'),
    responses: buildResponses({ status: 200, description: 'The webhook.', data: referTo('Webhook') }, itemChangeFailures)
  }),
  remove: describe({
    ...itemParameters,
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    responses: buildResponses({ status: 200, description: 'Deleted.', data: referTo('Deleted') }, itemFailures)
  }),
  roll: describe({
    ...itemParameters,
    operationId: 'rollWebhook',
    summary: 'Replace the secret',
    description:
      'Send `{}`. The new secret is shown only in this response. For a day each event has two signatures, so that the receiver can change over.',
    body: describeBody('WebhookAction'),
    responses: buildResponses(
      { status: 201, description: 'The webhook with its new secret.', data: referTo('NewWebhook') },
      itemChangeFailures
    )
  }),
  test: describe({
    ...itemParameters,
    operationId: 'testWebhook',
    summary: 'Send a test event',
    description:
      'Send `{}`. An event of the type `webhook.test` is sent once, soon, also to a disabled webhook. The list of deliveries shows what came of it.',
    body: describeBody('WebhookAction'),
    responses: buildResponses({ status: 202, description: 'It will be sent.', data: { ...testSchema } }, itemChangeFailures)
  }),
  resend: describe({
    ...itemParameters,
    operationId: 'resendWebhook',
    summary: 'Send events again',
    description: 'All events since a time are sent again with the ids that they had, as far as they are retained.',
    body: describeBody('WebhookResend'),
    responses: buildResponses({ status: 202, description: 'They will be sent.', data: { ...resentSchema } }, itemChangeFailures)
  }),
  deliveries: describe({
    ...itemParameters,
    operationId: 'searchWebhookDeliveries',
    summary: 'List deliveries',
    description: 'Every attempt to deliver an event, newest first.',
    query: { count: referToParameter('Count'), cursor: referToParameter('Cursor') },
    responses: buildResponses(
      { status: 200, description: 'A page.', data: buildPageSchema(referTo('WebhookDelivery')) },
      [...itemFailures, 'INVALID_CURSOR']
    )
  })
}

function collectionRoutes (scope: FastifyInstance, { webhooks, hasEvents }: WebhookRoutesOptions): void {
  const draft = createTypedBodyCheck(webhookDraftSchema)
  scope.get(path, described.list, async request => {
    requireNoQuery(request)
    const data = await rethrowAsFailure(webhooks.list(request.caller))
    return { data, total: data.length, hasMore: false }
  })
  scope.post(path, described.create, async (request, reply) => {
    requireNoQuery(request)
    const made = await rethrowAsFailure(webhooks.create(draft(request.body), toOwner(request.caller)))
    reply.code(201).header('location', `/v1/webhooks/${made.id}`)
    if (!hasEvents) request.warnings = [withoutEvents]
    return made
  })
}

const withoutEvents: Issue = {
  severity: 'warning',
  code: 'informational',
  diagnostics: `Events are switched off here: the webhook gets test events alone. ${howToSwitchOn}`
}

function itemRoutes (scope: FastifyInstance, webhooks: Webhooks): void {
  const changes = createTypedBodyCheck(webhookChangesSchema)
  scope.get(itemPath, described.read, async (request: WithId) => {
    requireNoQuery(request)
    return await rethrowAsFailure(webhooks.find(requireId(request), request.caller))
  })
  scope.patch(itemPath, described.update, async (request: WithId) => {
    requireNoQuery(request)
    const changed = changes(request.body)
    return await rethrowAsFailure(webhooks.change(requireId(request), toOwner(request.caller), changed))
  })
  scope.delete(itemPath, described.remove, async (request: WithId) => {
    requireNoQuery(request)
    const id = requireId(request)
    await rethrowAsFailure(webhooks.remove(id, toOwner(request.caller)))
    return { id, deleted: true }
  })
  scope.post(`${itemPath}/roll`, described.roll, async (request: WithId, reply) => {
    requireNoQuery(request)
    requireEmpty(request.body)
    const rolled = await rethrowAsFailure(webhooks.roll(requireId(request), toOwner(request.caller)))
    reply.code(201)
    return rolled
  })
}

function deliveryRoutes (scope: FastifyInstance, webhooks: Webhooks): void {
  const since = createTypedBodyCheck(resendSchema)
  const query = createQueryCheck(listQuery)
  scope.post(`${itemPath}/test`, described.test, async (request: WithId, reply) => {
    requireNoQuery(request)
    requireEmpty(request.body)
    const sent = await rethrowAsFailure(webhooks.test(requireId(request), toOwner(request.caller)))
    reply.code(202)
    return sent
  })
  scope.post(`${itemPath}/resend`, described.resend, async (request: WithId, reply) => {
    requireNoQuery(request)
    const { since: from } = since(request.body)
    const result = await rethrowAsFailure(webhooks.resend(requireId(request), toOwner(request.caller), from))
    reply.code(202)
    return result
  })
  scope.get(`${itemPath}/deliveries`, described.deliveries, async (request: WithId) => {
    const { count: text = defaultCount, cursor: before } = query(getRawQuery(request.raw.url)) as Static<
      typeof listQuery
    >
    const { count, warnings } = parseCount(text)
    request.warnings = warnings
    if (before !== undefined && !deliveryId.test(before)) throw new Failure('INVALID_CURSOR')
    const page = await rethrowAsFailure(
      webhooks.deliveries(requireId(request), request.caller, { count, ...before !== undefined && { before } })
    )
    const cursor = page.hasMore ? page.deliveries.at(-1)!.id : undefined
    return { data: page.deliveries, ...cursor !== undefined && { cursor }, hasMore: page.hasMore }
  })
}

/** @throws {Failure} NOT_FOUND */
function requireId ({ params: { id } }: WithId): string {
  if (webhookId.test(id)) return id
  throw new Failure('NOT_FOUND')
}

function toOwner ({ tenantId, mode, keyId }: Caller): WebhookOwner {
  return { tenantId, mode, by: `key:${keyId}` }
}

function createTypedBodyCheck<T extends TSchema> (schema: T): (body: unknown) => Static<T> {
  const check = createBodyCheck(schema)
  return body => check(body) as Static<T>
}

/** These requests take an empty object. */
const requireEmpty = createBodyCheck(undefined)
