import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { getRawQuery, invalidParameter } from '../../envelope/query.js'
import type { IdempotentRequest } from '../../idempotency/digest.js'
import { idempotencyKey, readIdempotencyKey } from '../../idempotency/header.js'
import type { IdempotencyClaim, IdempotencyStore } from '../../idempotency/keyed-requests.js'
import { isLimited, may, requireEveryScope, requireScope, type RecordForm } from '../../keys/scopes.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { identityFields, type Mapping } from '../../mappings/core/mapping.js'
import { listMeaningWarnings } from '../../mappings/core/meaning.js'
import { listRuleWarnings } from '../../mappings/core/validate.js'
import { hasTest } from '../../envelope/json-patch.js'
import type { TenantStore } from '../../tenant-guard/guard.js'
import {
  toEntityTag, hasOtherPrecondition, etagMatches, unsupportedPrecondition
} from '../../envelope/preconditions.js'
import { sendJson } from '../../envelope/reply.js'
import { authorizeIncludes, parseInclude, buildRelations } from './include.js'
import { parseQueryPairs, readSimpleSearch } from './query.js'
import { buildPageWarnings, presentJson } from './present-json.js'
import { readWithIncludes } from './read-with-includes.js'
import { read, search, type Context } from './reads.js'
import { create, remove, update, type WriteResult } from './writes.js'

interface ResourceOptions {
  readonly mappings: readonly Mapping[]
  /** The datastore of the request's caller, seen through the guard. */
  readonly storeFor: (request: FastifyRequest, form: RecordForm) => TenantStore
  readonly keyedRequests: IdempotencyStore
  readonly now: () => Date
  /** The gateway's own, before `/v1`. */
  readonly url: string
  /** A new URL for a definition that is created without one. */
  readonly newUrl: () => string
}

type WithId = FastifyRequest<{ Params: { id: string } }>

/** The routes `/<resource>` and `/<resource>/<id>` of every mapping; no resource has code of its own. */
export async function resources (scope: FastifyInstance, options: ResourceOptions): Promise<void> {
  for (const mapping of options.mappings) registerRoutes(scope, mapping, options)
}

function registerRoutes (scope: FastifyInstance, mapping: Mapping, options: ResourceOptions): void {
  const { storeFor, now, newUrl } = options
  const buildContext = (request: FastifyRequest): Context => ({
    mapping,
    store: storeFor(request, 'simple'),
    createContext: { now: now().toISOString(), keyName: request.caller.keyName, newUrl }
  })
  const routeOptions = { ...options, mapping, buildContext }
  createRoute(scope, routeOptions)
  readRoutes(scope, routeOptions)
  if (!mapping.appendOnly) changeRoute(scope, routeOptions)
  deleteRoute(scope, routeOptions)
}

const buildKeyedRouteOptions = (path: string) => ({ config: { takesIdempotencyKey: true, target: { resource: path } } })

interface RouteOptions extends ResourceOptions {
  readonly mapping: Mapping
  readonly buildContext: (request: FastifyRequest) => Context
}

function readRoutes (scope: FastifyInstance, { mapping, mappings, buildContext, storeFor, url }: RouteOptions): void {
  const { path } = mapping
  const config = { target: { resource: path } }
  let relations: ReturnType<typeof buildRelations> | undefined
  const groups = {
    getRelations: () => (relations ??= buildRelations(mapping, mappings)),
    isGroup: (name: string) => mappings.some(({ path }) => path === name)
  }
  scope.get(`/${path}`, { config }, async (request, reply) => {
    const { warnings = [], ...query } = readSimpleSearch(mapping, getRawQuery(request.raw.url))
    const page = await search(buildContext(request), query)
    request.warnings = [...warnings, ...buildPageWarnings(page)]
    const { total, cursor } = page
    const more = { total, cursor, hasMore: cursor !== undefined }
    if (!('json' in page)) return { data: page.resources.map(mapping.present), ...more }
    const rest = `,${JSON.stringify(more).slice(1)}`
    return await sendJson(reply, [Buffer.from('{"data":'), presentJson(mapping, page), Buffer.from(rest)])
  })
  scope.get(`/${path}/:id`, { config }, async (request: WithId, reply) => {
    const { params: { id }, headers, caller } = request
    const includes = authorizeIncludes(caller, mapping, parseInclude(mapping, groups, getRawQuery(request.raw.url)))
    if (includes !== undefined) {
      const store = storeFor(request, includes.form)
      const { data, warnings } = await readWithIncludes({ mapping, store, url }, id, includes)
      request.warnings = [...includes.warnings, ...warnings]
      return data
    }
    const stored = await read(buildContext(request), id)
    if (!etagMatches(headers['if-none-match'], stored.meta.versionId)) {
      request.warnings = listMeaningWarnings(stored)
      return present(mapping, stored, reply)
    }
    return await reply.code(304).header('etag', toEntityTag(stored.meta.versionId!)).send()
  })
}

function createRoute (scope: FastifyInstance, { mapping, buildContext, keyedRequests }: RouteOptions): void {
  const { path } = mapping
  scope.post(`/${path}`, buildKeyedRouteOptions(path), async (request, reply) => {
    requirePlainWrite(request)
    await using claim = await claimIdempotencyKey(keyedRequests, request, { route: path })
    const written = await create(buildContext(request), request.body, claim)
    reply.code(201).header('location', `/v1/${path}/${written.record.id}`)
    return presentWritten(mapping, written, reply)
  })
}

function changeRoute (scope: FastifyInstance, { mapping, buildContext, keyedRequests }: RouteOptions): void {
  const { path } = mapping
  scope.patch(`/${path}/:id`, buildKeyedRouteOptions(path), async (request: WithId, reply) => {
    requirePlainWrite(request)
    if (hasTest(request.body)) requireScope(request.caller, 'read', { resource: path })
    const change = { id: request.params.id, body: request.body, ifMatch: request.headers['if-match'] }
    await using claim = await claimIdempotencyKey(keyedRequests, request, { route: path, ...change })
    const written = await update(buildContext(request), change, claim)
    const presented = presentWritten(mapping, written, reply)
    return may(request.caller.scopes, 'read', { resource: path }) ? presented : pickIdentity(presented)
  })
}

function deleteRoute (scope: FastifyInstance, { mapping, mappings, buildContext }: RouteOptions): void {
  const paths = new Map(mappings.map(({ type, path }) => [type, path]))
  const config = { target: { resource: mapping.path } }
  scope.delete(`/${mapping.path}/:id`, { config }, async (request: WithId) => {
    const { caller, headers, params: { id } } = request
    requirePlainWrite(request)
    if (mapping.appendOnly) requireEveryScope(caller)
    const listsReferrers = !isLimited(caller.scopes, 'read')
    await remove(buildContext(request), { id, ifMatch: headers['if-match'], listsReferrers, paths })
    return { id, deleted: true }
  })
}

/**
 * The right to perform a request with an Idempotency-Key, until the handler ends: never at the same time as another one
 * with the same key. Undefined for a request without one.
 * @throws {Failure} IDEMPOTENCY_KEY_REUSED, CONFLICT, BACKEND_UNAVAILABLE
 */
async function claimIdempotencyKey (
  keyedRequests: IdempotencyStore,
  { caller: { tenantId, mode }, method, body, raw }: FastifyRequest,
  what: Pick<IdempotentRequest, 'route' | 'id' | 'ifMatch'>
): Promise<IdempotencyClaim | undefined> {
  const key = readIdempotencyKey(raw.rawHeaders)
  if (key === undefined) return undefined
  return await keyedRequests.claim({ ...what, tenantId, mode, key, method, body })
}

function presentWritten (mapping: Mapping, { record, isReplayed, warnings }: WriteResult, reply: FastifyReply) {
  if (isReplayed) reply.header(idempotencyKey.replayedHeader, 'true')
  reply.request.warnings = [...warnings, ...listRuleWarnings(mapping, record), ...listMeaningWarnings(record)]
  return present(mapping, record, reply)
}

/** The response to a key that only writes: the changed record holds more than the key has sent. */
function pickIdentity (presented: Readonly<Record<string, unknown>>): unknown {
  return Object.fromEntries(Object.entries(presented).filter(([name]) => identityNames.has(name)))
}

const identityNames: ReadonlySet<string> = new Set(identityFields)

function present (mapping: Mapping, stored: StoredResource, reply: FastifyReply) {
  if (stored.meta.versionId !== undefined) reply.header('etag', toEntityTag(stored.meta.versionId))
  return mapping.present(stored)
}

/**
 * Only reads have a query and read preconditions: on a write they would be ignored, and the client misled.
 */
function requirePlainWrite (request: FastifyRequest): void {
  if (hasOtherPrecondition(request.headers)) throw unsupportedPrecondition()
  const [name] = parseQueryPairs(getRawQuery(request.raw.url)).keys()
  if (name !== undefined) throw invalidParameter('query', 'this request takes no query parameters')
}
