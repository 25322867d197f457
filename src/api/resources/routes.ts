import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { rawQuery, invalidParameter } from '../../envelope/query.js'
import { idempotencyKey, readIdempotencyKey } from '../../idempotency/header.js'
import type { IdempotencyClaim, IdempotencyStore } from '../../idempotency/keyed-requests.js'
import { hasScope, requireEveryScope } from '../../keys/scopes.js'
import type { StoredResource } from '../../mappings/fhir.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { warningsOf } from '../../mappings/core/validate.js'
import type { TenantStore } from '../../tenant-guard/guard.js'
import { entityTag, hasOtherPrecondition, etagMatches, otherPrecondition } from '../../envelope/preconditions.js'
import { parseInclude } from './include.js'
import { read, remove, search, type Context } from './interactions.js'
import { createOnce, updateOnce, type WriteResult } from './once.js'
import { parseQueryPairs, readSearch } from './query.js'
import { readWithIncludes } from './read-with-includes.js'
import { reverseIncludes } from './relations.js'

interface ResourceOptions {
  readonly mappings: readonly Mapping[]
  /** The datastore of the request's caller, seen through the guard. */
  readonly storeFor: (request: FastifyRequest) => TenantStore
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
  for (const mapping of options.mappings) routesOf(scope, mapping, options)
}

const keyed = { config: { takesIdempotencyKey: true } } as const

function routesOf (scope: FastifyInstance, mapping: Mapping, options: ResourceOptions): void {
  const { storeFor, now, newUrl } = options
  const contextOf = (request: FastifyRequest): Context => ({
    mapping,
    store: storeFor(request),
    createContext: { now: now().toISOString(), keyName: request.caller.keyName, newUrl }
  })
  const routeOptions = { ...options, mapping, contextOf }
  createRoute(scope, routeOptions)
  readRoutes(scope, routeOptions)
  if (!mapping.appendOnly) changeRoute(scope, routeOptions)
  deleteRoute(scope, routeOptions)
}

interface RouteOptions extends ResourceOptions {
  readonly mapping: Mapping
  readonly contextOf: (request: FastifyRequest) => Context
}

function readRoutes (scope: FastifyInstance, { mapping, mappings, contextOf, url }: RouteOptions): void {
  const { path } = mapping
  let relations: ReturnType<typeof reverseIncludes> | undefined
  const groups = {
    relationsOf: () => (relations ??= reverseIncludes(mapping, mappings)),
    isGroup: (name: string) => mappings.some(({ path }) => path === name)
  }
  scope.get(`/${path}`, async request => {
    const { warnings = [], ...query } = readSearch(mapping, rawQuery(request.raw.url))
    request.warnings = warnings
    const page = await search(contextOf(request), query)
    return {
      data: page.resources.map(mapping.present),
      total: page.total,
      cursor: page.cursor,
      hasMore: page.cursor !== undefined
    }
  })
  scope.get(`/${path}/:id`, async (request: WithId, reply) => {
    const { params: { id }, headers } = request
    const includes = parseInclude(mapping, groups, rawQuery(request.raw.url))
    if (includes !== undefined) {
      request.warnings = includes.warnings
      return await readWithIncludes(contextOf(request), id, includes, url)
    }
    const stored = await read(contextOf(request), id)
    if (!etagMatches(headers['if-none-match'], stored.meta.versionId)) return present(mapping, stored, reply)
    return await reply.code(304).header('etag', entityTag(stored.meta.versionId!)).send()
  })
}

function createRoute (scope: FastifyInstance, { mapping, contextOf, keyedRequests }: RouteOptions): void {
  const { path } = mapping
  scope.post(`/${path}`, keyed, async (request, reply) => {
    requirePlainWrite(request)
    const create = async (claim?: IdempotencyClaim) => await createOnce(contextOf(request), request.body, claim)
    const written = await claimed(keyedRequests, { request, route: path }, create)
    reply.code(201).header('location', `/v1/${path}/${written.stored.id}`)
    return presentWritten(mapping, written, reply)
  })
}

function changeRoute (scope: FastifyInstance, { mapping, contextOf, keyedRequests }: RouteOptions): void {
  const { path } = mapping
  scope.patch(`/${path}/:id`, keyed, async (request: WithId, reply) => {
    requirePlainWrite(request)
    const change = { id: request.params.id, body: request.body, ifMatch: request.headers['if-match'] }
    const update = async (claim?: IdempotencyClaim) => await updateOnce(contextOf(request), change, claim)
    return presentWritten(mapping, await claimed(keyedRequests, { request, route: path, ...change }, update), reply)
  })
}

function deleteRoute (scope: FastifyInstance, { mapping, mappings, contextOf }: RouteOptions): void {
  const paths = new Map(mappings.map(({ type, path }) => [type, path]))
  scope.delete(`/${mapping.path}/:id`, async (request: WithId) => {
    const { caller, headers, params: { id } } = request
    requirePlainWrite(request)
    if (mapping.appendOnly) requireEveryScope(caller)
    const listsReferrers = hasScope(caller.scopes, 'read')
    await remove(contextOf(request), { id, ifMatch: headers['if-match'], listsReferrers, paths })
    return { id, deleted: true }
  })
}

interface Keyed {
  readonly request: FastifyRequest
  readonly route: string
  readonly id?: string
  readonly ifMatch?: string | undefined
}

/** Performs a write; one with an Idempotency-Key never at the same time as another one with the same key. */
async function claimed (
  keyedRequests: IdempotencyStore,
  { request, ...what }: Keyed,
  perform: (claim?: IdempotencyClaim) => Promise<WriteResult>
): Promise<WriteResult> {
  const {
    caller: { tenantId, mode },
    method,
    body,
    raw
  } = request
  const key = readIdempotencyKey(raw.rawHeaders)
  return key === undefined
    ? await perform()
    : await keyedRequests.perform({ ...what, tenantId, mode, key, method, body }, perform)
}

function presentWritten (mapping: Mapping, { stored, isReplayed, warnings }: WriteResult, reply: FastifyReply) {
  if (isReplayed) reply.header(idempotencyKey.replayedHeader, 'true')
  reply.request.warnings = [...warnings, ...warningsOf(mapping, stored)]
  return present(mapping, stored, reply)
}

function present (mapping: Mapping, stored: StoredResource, reply: FastifyReply) {
  if (stored.meta.versionId !== undefined) reply.header('etag', entityTag(stored.meta.versionId))
  return mapping.present(stored)
}

/**
 * Only reads have a query and read preconditions: on a write they would be ignored, and the client misled.
 */
function requirePlainWrite (request: FastifyRequest): void {
  if (hasOtherPrecondition(request.headers)) throw otherPrecondition()
  const [name] = parseQueryPairs(rawQuery(request.raw.url)).keys()
  if (name !== undefined) throw invalidParameter('query', 'this request takes no query parameters')
}
