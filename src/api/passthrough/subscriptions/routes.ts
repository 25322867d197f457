import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ControlError, rethrowAsFailure } from '../../../control-plane/store/control-error.js'
import { unsupportedPrecondition } from '../../../envelope/preconditions.js'
import { Failure } from '../../../envelope/failures.js'
import { fhirType } from '../../../envelope/operation-outcome.js'
import { howToSwitchOn } from '../../../events/event.js'
import { buildNotification, buildStatus } from '../../../events/subscriptions/notification.js'
import { subscriptionIdForm, type Subscription, type Subscriptions } from '../../../events/subscriptions/subscription.js'
import type { WebhookOwner } from '../../../events/webhooks/webhook.js'
import { refuseIdempotencyKey } from '../../../idempotency/header.js'
import { may, requireScope, requireWebhookScope } from '../../../keys/scopes.js'
import { sendFhirResponse } from '../send-response.js'
import { requireNoParameters, requireResource, type FhirRequest } from '../fhir-request.js'
import { readRequest } from '../read-request.js'
import { isMatch, readRange, readSubscriptionSearch, readStatusQuery, type SubscriptionCriteria } from './query.js'
import { parseSubscription, toSubscriptionResource } from './resource.js'

/** The options of the routes. */
interface SubscriptionRoutesOptions {
  /** Absent where events are switched off. */
  readonly subscriptions: Subscriptions | undefined
  /** The gateway's own URL, before `/v1`. */
  readonly url: string
  readonly now: () => Date
}

/** A request with everything that its response needs. */
interface Call {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly requested: FhirRequest
  readonly subscriptions: Subscriptions
  readonly fhirBase: string
  readonly now: () => Date
  /** Of the path; empty where it names none. */
  readonly id: string
}

type Handle = (call: Call) => Promise<unknown>
type Interaction = 'create' | 'read' | 'update' | 'delete' | 'search'

/** The interactions on each path below `/Subscription`, by method. */
const offered: Readonly<Record<string, Readonly<Record<string, readonly [Interaction, Handle]>>>> = {
  '': { GET: ['search', search], POST: ['create', create] },
  _search: { POST: ['search', search] },
  $status: { GET: ['search', listStatus], POST: ['search', listStatus] },
  ':id': { GET: ['read', read], PUT: ['update', update], DELETE: ['delete', remove] },
  ':id/$status': { GET: ['read', showStatus], POST: ['read', showStatus] },
  ':id/$events': { GET: ['read', showEvents], POST: ['read', showEvents] }
}

/**
 * `/v1/fhir/Subscription`: topic-based subscriptions by HL7's Subscriptions R5 Backport 1.1, for keys with the scope
 * `webhooks` that may read the type of the topic. They are the gateway's own: no datastore is involved. Others are
 * reported as missing.
 */
export async function subscriptionRoutes (
  scope: FastifyInstance, { subscriptions, url, now }: SubscriptionRoutesOptions
): Promise<void> {
  const mount = { fhirBase: `${url}/v1/fhir`, prefix: scope.prefix }
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    if (subscriptions === undefined) throw subscriptionsDisabled()
    const requested = readRequest(request, mount)
    const [, ...path] = requested.path
    const [kind, handle] = resolveInteraction(path, request.method)
    request.understood = { kind, type: 'Subscription' }
    requireWebhookScope(request.caller)
    refuseIdempotencyKey(request)
    const isWrite = kind === 'create' || kind === 'update' || kind === 'delete'
    const { hasOtherPrecondition, ifNoneExist } = requested
    if (isWrite && (hasOtherPrecondition === true || ifNoneExist !== undefined)) throw unsupportedPrecondition()
    return await handle({ request, reply, requested, subscriptions, fhirBase: mount.fhirBase, now, id: path[0] ?? '' })
  }
  for (const path of ['/Subscription', '/Subscription/*']) {
    scope.route({
      method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'], url: path, exposeHeadRoute: false, handler
    })
  }
}

function subscriptionsDisabled (): Failure {
  return new Failure('METHOD_NOT_ALLOWED', {
    message: `Subscriptions need events, which are switched off here. ${howToSwitchOn}`,
    headers: { allow: '' }
  })
}

function resolveInteraction (path: readonly string[], method: string): readonly [Interaction, Handle] {
  const [first = '', ...more] = path
  const isNamed = first !== '' && Object.hasOwn(offered, first) === false && !/^[_$]/.test(first)
  const pattern = [isNamed ? ':id' : first, ...more].join('/')
  const methods = Object.hasOwn(offered, pattern) ? offered[pattern]! : {}
  const found = methods[method === 'HEAD' ? 'GET' : method]
  if (found !== undefined) return found
  const allow = Object.keys(methods).flatMap(each => each === 'GET' ? ['GET', 'HEAD'] : [each]).join(', ')
  throw new Failure('METHOD_NOT_ALLOWED', {
    message: 'This gateway does not support this interaction. Its CapabilityStatement lists those that it supports.',
    headers: { allow }
  })
}

/** Those that the caller may see: of its organization and mode, and of topics whose records it may read. */
async function listVisible ({ request: { caller }, subscriptions }: Call): Promise<readonly Subscription[]> {
  const all = await rethrowAsFailure(subscriptions.list(caller))
  return all.filter(({ type }) => may(caller.scopes, 'read', { fhirType: type }))
}

/** @throws {Failure} NOT_FOUND, the same for one of another organization */
async function requireSubscription ({ request: { caller }, subscriptions, id }: Call): Promise<Subscription> {
  if (!new RegExp(subscriptionIdForm).test(id)) throw new Failure('NOT_FOUND')
  const found = await rethrowAsFailure(subscriptions.find(id, caller))
  if (may(caller.scopes, 'read', { fhirType: found.type })) return found
  throw new Failure('NOT_FOUND')
}

const toOwner = ({ request: { caller: { tenantId, mode, keyId } } }: Call): WebhookOwner =>
  ({ tenantId, mode, by: `key:${keyId}` })

async function create (call: Call): Promise<unknown> {
  const { request: { caller }, requested, subscriptions, fhirBase } = call
  requireNoParameters(requested)
  const draft = parseSubscription(requireResource(requested, 'Subscription'), fhirBase)
  requireScope(caller, 'read', { fhirType: draft.type })
  return send(call, {
    status: 201,
    kind: 'create',
    subscription: await mapChangeErrors(subscriptions.create(draft, toOwner(call)))
  })
}

async function read (call: Call): Promise<unknown> {
  requireNoParameters(call.requested)
  return send(call, { status: 200, kind: 'read', subscription: await requireSubscription(call) })
}

async function update (call: Call): Promise<unknown> {
  const { requested, subscriptions, fhirBase, id } = call
  requireNoParameters(requested)
  const resource = requireResource(requested, 'Subscription')
  if (resource.id !== undefined && resource.id !== id) {
    throw new Failure('BAD_REQUEST', { message: 'id: expected the id in the URL, or no id.' })
  }
  const draft = parseSubscription(resource, fhirBase)
  const found = await requireSubscription(call)
  requireScope(call.request.caller, 'read', { fhirType: draft.type })
  const version = requireVersion(requested, found)
  return send(call, {
    status: 200,
    kind: 'update',
    subscription: await mapChangeErrors(subscriptions.replace(id, toOwner(call), { draft, version }), true)
  })
}

async function remove (call: Call): Promise<unknown> {
  const { requested, subscriptions, reply } = call
  requireNoParameters(requested)
  const found = await requireSubscription(call)
  requireVersion(requested, found)
  await mapChangeErrors(subscriptions.remove(found.id, toOwner(call)))
  return reply.code(204).send()
}

/** @returns the version that the change needs; 0 for any. @throws {Failure} PRECONDITION_FAILED */
function requireVersion ({ ifMatch }: FhirRequest, { version }: Subscription): number {
  if (ifMatch === undefined || ifMatch === '*') return 0
  if (ifMatch !== String(version)) throw new Failure('PRECONDITION_FAILED')
  return version
}

async function search (call: Call): Promise<unknown> {
  const { requested, fhirBase, request } = call
  const criteria = readSubscriptionSearch(requested)
  const entries = (await listMatching(call, criteria)).map(subscription => ({
    fullUrl: `${fhirBase}/Subscription/${subscription.id}`, resource: toSubscriptionResource(subscription, fhirBase)
  }))
  return sendBundle(call, entries, request.method === 'GET' ? criteria : undefined)
}

async function listMatching (call: Call, criteria: SubscriptionCriteria): Promise<readonly Subscription[]> {
  return (await listVisible(call)).filter(subscription => isMatch(subscription, criteria, call.fhirBase))
}

async function listStatus (call: Call): Promise<unknown> {
  return sendBundle(call, (await listMatching(call, readStatusQuery(call.requested, false))).map(buildStatusEntry))
}

async function showStatus (call: Call): Promise<unknown> {
  readStatusQuery(call.requested, true)
  return sendBundle(call, [buildStatusEntry(await requireSubscription(call))])
}

const buildStatusEntry = (subscription: Subscription): object =>
  ({ resource: buildStatus(subscription, { type: 'query-status', eventCount: subscription.eventCount }) })

async function showEvents (call: Call): Promise<unknown> {
  const range = readRange(call.requested)
  const found = await requireSubscription(call)
  const events = await rethrowAsFailure(call.subscriptions.events(found.id, call.request.caller, range))
  const notice = { type: 'query-event', eventCount: found.eventCount, events } as const
  return call.reply.type(fhirType).send(JSON.stringify(buildNotification(found, notice, call.now().toISOString())))
}

function sendBundle (
  { reply, fhirBase }: Call, entries: readonly object[], criteria: SubscriptionCriteria = []
): FastifyReply {
  const query = new URLSearchParams(criteria.map(([name, values]): [string, string] => [name, values.join(',')])).toString()
  return reply.type(fhirType).send(JSON.stringify({
    resourceType: 'Bundle',
    type: 'searchset',
    total: entries.length,
    link: [{ relation: 'self', url: `${fhirBase}/Subscription${query === '' ? '' : `?${query}`}` }],
    ...entries.length > 0 && { entry: entries.map(entry => ({ ...entry, search: { mode: 'match' } })) }
  }))
}

function send (
  { reply, fhirBase }: Call,
  { status, kind, subscription }: {
    readonly status: 200 | 201, readonly kind: Interaction, readonly subscription: Subscription
  }
): FastifyReply {
  const record = toSubscriptionResource(subscription, fhirBase)
  const response = { status, record, body: JSON.stringify(record) }
  // A key that may read the records of the topic may see the subscription.
  return sendFhirResponse(reply, response, { interaction: { kind, type: subscription.type }, fhirBase })
}

/** @param isVersioned whether a conflict is about the version. @throws {Failure} for a refusal of the control plane */
async function mapChangeErrors<T> (change: Promise<T>, isVersioned = false): Promise<T> {
  return await rethrowAsFailure(change.catch((error: unknown) => {
    if (isVersioned && error instanceof ControlError && error.reason === 'conflict') throw new Failure('PRECONDITION_FAILED')
    throw error
  }), 'Subscription')
}
