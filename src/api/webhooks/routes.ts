import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type, type Static, type TSchema } from 'typebox'
import { asFailures } from '../../control-plane/store/control-error.js'
import { plainTypes } from '../../envelope/body.js'
import { bodyCheck, queryCheck } from '../../envelope/checked-input.js'
import { Failure, type FailureCode, type Issue } from '../../envelope/failures.js'
import {
  commonFailures,
  describeRoute,
  header,
  inTypes,
  pageOf,
  parameter,
  referTo,
  responsesOf,
  withBody,
  type JsonSchema
} from '../../envelope/openapi-responses.js'
import { parseCount, rawQuery } from '../../envelope/query.js'
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
const one = `${path}/:id`

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
    collection(routes, { webhooks, hasEvents })
    single(routes, webhooks)
    deliveries(routes, webhooks)
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
const ofOne = { path: { id: { ...webhookSchema.properties.id, description: 'The id of the webhook.' } } }
const body = (name: string): JsonSchema => inTypes(plainTypes, { schema: referTo(name) })
const failuresOfOne: readonly FailureCode[] = [...commonFailures, 'NOT_FOUND']
const changesOne = [...failuresOfOne, ...withBody]

const described = {
  list: describe({
    operationId: 'searchWebhooks',
    summary: 'List webhooks',
    description: 'All webhooks of the organization and mode, oldest first, on one page.',
    responses: responsesOf(
      { status: 200, description: 'All webhooks.', data: pageOf(referTo('Webhook')) },
      commonFailures
    )
  }),
  create: describe({
    operationId: 'createWebhook',
    summary: 'Create a webhook',
    description: 'Events from now on are sent. The secret is shown only in this response.',
    body: body('WebhookCreate'),
    responses: responsesOf(
      {
        status: 201, description: 'Created.', data: referTo('NewWebhook'), headers: { Location: header('Location') }
      },
      [...commonFailures, ...withBody]
    )
  }),
  read: describe({
    ...ofOne,
    operationId: 'readWebhook',
    summary: 'Read a webhook',
    responses: responsesOf(
      { status: 200, description: 'The webhook, without its secret.', data: referTo('Webhook') },
      failuresOfOne
    )
  }),
  update: describe({
    ...ofOne,
    operationId: 'updateWebhook',
    summary: 'Update a webhook',
    description:
      'Changes the given fields. While a webhook is disabled, its events wait. Enabling it sends them, as far as they are retained, and those again that failed.',
    body: body('WebhookChange'),
    responses: responsesOf({ status: 200, description: 'The webhook.', data: referTo('Webhook') }, changesOne)
  }),
  remove: describe({
    ...ofOne,
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    responses: responsesOf({ status: 200, description: 'Deleted.', data: referTo('Deleted') }, failuresOfOne)
  }),
  roll: describe({
    ...ofOne,
    operationId: 'rollWebhook',
    summary: 'Replace the secret',
    description:
      'Send `{}`. The new secret is shown only in this response. For a day each event has two signatures, so that the receiver can change over.',
    body: body('WebhookAction'),
    responses: responsesOf(
      { status: 201, description: 'The webhook with its new secret.', data: referTo('NewWebhook') },
      changesOne
    )
  }),
  test: describe({
    ...ofOne,
    operationId: 'testWebhook',
    summary: 'Send a test event',
    description:
      'Send `{}`. An event of the type `webhook.test` is sent once, soon, also to a disabled webhook. The list of deliveries shows what came of it.',
    body: body('WebhookAction'),
    responses: responsesOf({ status: 202, description: 'It will be sent.', data: { ...testSchema } }, changesOne)
  }),
  resend: describe({
    ...ofOne,
    operationId: 'resendWebhook',
    summary: 'Send events again',
    description: 'All events since a time are sent again with the ids that they had, as far as they are retained.',
    body: body('WebhookResend'),
    responses: responsesOf({ status: 202, description: 'They will be sent.', data: { ...resentSchema } }, changesOne)
  }),
  deliveries: describe({
    ...ofOne,
    operationId: 'searchWebhookDeliveries',
    summary: 'List deliveries',
    description: 'Every attempt to deliver an event, newest first.',
    query: { count: parameter('Count'), cursor: parameter('Cursor') },
    responses: responsesOf(
      { status: 200, description: 'A page.', data: pageOf(referTo('WebhookDelivery')) },
      [...failuresOfOne, 'INVALID_CURSOR']
    )
  })
}

function collection (scope: FastifyInstance, { webhooks, hasEvents }: WebhookRoutesOptions): void {
  const draft = bodyOf(webhookDraftSchema)
  scope.get(path, described.list, async request => {
    refuseQuery(request)
    const data = await asFailures(webhooks.list(request.caller))
    return { data, total: data.length, hasMore: false }
  })
  scope.post(path, described.create, async (request, reply) => {
    refuseQuery(request)
    const made = await asFailures(webhooks.create(draft(request.body), ownerOf(request.caller)))
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

function single (scope: FastifyInstance, webhooks: Webhooks): void {
  const changes = bodyOf(webhookChangesSchema)
  scope.get(one, described.read, async (request: WithId) => {
    refuseQuery(request)
    return await asFailures(webhooks.find(idOf(request), request.caller))
  })
  scope.patch(one, described.update, async (request: WithId) => {
    refuseQuery(request)
    const changed = changes(request.body)
    return await asFailures(webhooks.change(idOf(request), ownerOf(request.caller), changed))
  })
  scope.delete(one, described.remove, async (request: WithId) => {
    refuseQuery(request)
    const id = idOf(request)
    await asFailures(webhooks.remove(id, ownerOf(request.caller)))
    return { id, deleted: true }
  })
  scope.post(`${one}/roll`, described.roll, async (request: WithId, reply) => {
    refuseQuery(request)
    requireEmpty(request.body)
    const rolled = await asFailures(webhooks.roll(idOf(request), ownerOf(request.caller)))
    reply.code(201)
    return rolled
  })
}

function deliveries (scope: FastifyInstance, webhooks: Webhooks): void {
  const since = bodyOf(resendSchema)
  const query = queryCheck(listQuery)
  scope.post(`${one}/test`, described.test, async (request: WithId, reply) => {
    refuseQuery(request)
    requireEmpty(request.body)
    const sent = await asFailures(webhooks.test(idOf(request), ownerOf(request.caller)))
    reply.code(202)
    return sent
  })
  scope.post(`${one}/resend`, described.resend, async (request: WithId, reply) => {
    refuseQuery(request)
    const { since: from } = since(request.body)
    const result = await asFailures(webhooks.resend(idOf(request), ownerOf(request.caller), from))
    reply.code(202)
    return result
  })
  scope.get(`${one}/deliveries`, described.deliveries, async (request: WithId) => {
    const { count: text = defaultCount, cursor: before } = query(rawQuery(request.raw.url)) as Static<typeof listQuery>
    const { count, warnings } = parseCount(text)
    request.warnings = warnings
    if (before !== undefined && !deliveryId.test(before)) throw new Failure('INVALID_CURSOR')
    const page = await asFailures(
      webhooks.deliveries(idOf(request), request.caller, { count, ...before !== undefined && { before } })
    )
    const cursor = page.hasMore ? page.deliveries.at(-1)!.id : undefined
    return { data: page.deliveries, ...cursor !== undefined && { cursor }, hasMore: page.hasMore }
  })
}

/** @throws {Failure} NOT_FOUND */
function idOf ({ params: { id } }: WithId): string {
  if (webhookId.test(id)) return id
  throw new Failure('NOT_FOUND')
}

function ownerOf ({ tenantId, mode, keyId }: Caller): WebhookOwner {
  return { tenantId, mode, by: `key:${keyId}` }
}

function bodyOf<T extends TSchema> (schema: T): (body: unknown) => Static<T> {
  const check = bodyCheck(schema)
  return body => check(body) as Static<T>
}

/** These requests take an empty object. */
const requireEmpty = bodyCheck(undefined)

function refuseQuery ({ raw }: FastifyRequest): void {
  if (rawQuery(raw.url) !== '') throw new Failure('BAD_REQUEST', { message: 'Send no query parameters.' })
}
