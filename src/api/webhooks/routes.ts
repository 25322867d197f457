import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type, type Static, type TSchema } from 'typebox'
import { asFailures } from '../../control-plane/store/control-error.js'
import { bodyCheck, queryCheck } from '../../envelope/checked-input.js'
import { Failure } from '../../envelope/failures.js'
import { parseCount, rawQuery } from '../../envelope/query.js'
import { requireWebhookScope } from '../../keys/scopes.js'
import type { Caller } from '../../keys/caller.js'
import { quotaExempt } from '../../limits/monthly-quota.js'
import {
  deliveryIdForm,
  resendSchema,
  webhookChangesSchema,
  webhookDraftSchema,
  webhookIdForm,
  type Webhooks,
  type WebhookOwner
} from '../../events/webhooks/webhook.js'

/** The options of the routes. */
interface WebhookRoutesOptions { readonly webhooks: Webhooks }

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
export async function webhookRoutes (scope: FastifyInstance, { webhooks }: WebhookRoutesOptions): Promise<void> {
  await scope.register(async routes => {
    routes.addHook('onRequest', async ({ caller }) => requireWebhookScope(caller))
    collection(routes, webhooks)
    single(routes, webhooks)
    deliveries(routes, webhooks)
  })
}

/** These routes check the scope themselves, and cost nothing of the month's quota. */
const config = { ...quotaExempt.config, effect: 'of the record' } as const

function collection (scope: FastifyInstance, webhooks: Webhooks): void {
  const draft = bodyOf(webhookDraftSchema)
  scope.get(path, { config }, async request => {
    refuseQuery(request)
    const data = await asFailures(webhooks.list(request.caller))
    return { data, total: data.length, hasMore: false }
  })
  scope.post(path, { config }, async (request, reply) => {
    refuseQuery(request)
    const made = await asFailures(webhooks.create(draft(request.body), ownerOf(request.caller)))
    reply.code(201).header('location', `/v1/webhooks/${made.id}`)
    return made
  })
}

function single (scope: FastifyInstance, webhooks: Webhooks): void {
  const changes = bodyOf(webhookChangesSchema)
  scope.get(one, { config }, async (request: WithId) => {
    refuseQuery(request)
    return await asFailures(webhooks.find(idOf(request), request.caller))
  })
  scope.patch(one, { config }, async (request: WithId) => {
    refuseQuery(request)
    const changed = changes(request.body)
    return await asFailures(webhooks.change(idOf(request), ownerOf(request.caller), changed))
  })
  scope.delete(one, { config }, async (request: WithId) => {
    refuseQuery(request)
    const id = idOf(request)
    await asFailures(webhooks.remove(id, ownerOf(request.caller)))
    return { id, deleted: true }
  })
  scope.post(`${one}/roll`, { config }, async (request: WithId, reply) => {
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
  scope.post(`${one}/test`, { config }, async (request: WithId, reply) => {
    refuseQuery(request)
    requireEmpty(request.body)
    const sent = await asFailures(webhooks.test(idOf(request), ownerOf(request.caller)))
    reply.code(202)
    return sent
  })
  scope.post(`${one}/resend`, { config }, async (request: WithId, reply) => {
    refuseQuery(request)
    const { since: from } = since(request.body)
    const result = await asFailures(webhooks.resend(idOf(request), ownerOf(request.caller), from))
    reply.code(202)
    return result
  })
  scope.get(`${one}/deliveries`, { config }, async (request: WithId) => {
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
