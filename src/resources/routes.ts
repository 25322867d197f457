import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { StoredResource } from '../mappings/fhir.js'
import type { Mapping } from '../mappings/kit/mapping.js'
import type { GuardedStore } from '../tenant-guard/guard.js'
import { entityTag, isKnown } from './conditions.js'
import { create, read, remove, search, update, type Context } from './interactions.js'
import { readPairs, readSearch, refused } from './query.js'

export interface ResourceOptions {
  readonly mappings: readonly Mapping[]
  /** The datastore of the request's caller, seen through the guard. */
  readonly storeFor: (request: FastifyRequest) => GuardedStore
  readonly now: () => Date
  /** A new URL for a definition that is created without one. */
  readonly newUrl: () => string
}

type WithId = FastifyRequest<{ Params: { id: string } }>

/** The routes `/<resource>` and `/<resource>/<id>` of every mapping; no resource has code of its own. */
export async function resources (scope: FastifyInstance, { mappings, storeFor, now, newUrl }: ResourceOptions): Promise<void> {
  for (const mapping of mappings) {
    routesOf(scope, mapping, request => ({
      mapping, store: storeFor(request), occasion: { now: now().toISOString(), keyName: request.caller.keyName, newUrl }
    }))
  }
}

function routesOf (scope: FastifyInstance, mapping: Mapping, contextOf: (request: FastifyRequest) => Context): void {
  const { path } = mapping
  scope.post(`/${path}`, async (request, reply) => {
    refuseQuery(request)
    const stored = await create(contextOf(request), request.body)
    reply.code(201).header('location', `/v1/${path}/${stored.id}`)
    return present(mapping, stored, reply)
  })
  scope.get(`/${path}`, async request => {
    const page = await search(contextOf(request), readSearch(mapping, queryOf(request)))
    return { data: page.resources.map(mapping.present), total: page.total, cursor: page.cursor, hasMore: page.cursor !== undefined }
  })
  scope.get(`/${path}/:id`, async (request: WithId, reply) => {
    refuseQuery(request)
    const stored = await read(contextOf(request), request.params.id)
    if (isKnown(request.headers['if-none-match'], stored.meta.versionId)) return await reply.code(304).header('etag', entityTag(stored.meta.versionId!)).send()
    return present(mapping, stored, reply)
  })
  if (mapping.appendOnly) return
  scope.patch(`/${path}/:id`, async (request: WithId, reply) => {
    refuseQuery(request)
    return present(mapping, await update(contextOf(request), request.params.id, request.body, request.headers['if-match']), reply)
  })
  scope.delete(`/${path}/:id`, async (request: WithId) => {
    refuseQuery(request)
    await remove(contextOf(request), request.params.id, request.headers['if-match'])
    return { id: request.params.id, deleted: true }
  })
}

function present (mapping: Mapping, stored: StoredResource, reply: FastifyReply) {
  if (stored.meta.versionId !== undefined) reply.header('etag', entityTag(stored.meta.versionId))
  return mapping.present(stored)
}

const queryOf = ({ raw }: FastifyRequest): string => /\?(.*)$/s.exec(raw.url ?? '')?.[1] ?? ''

/** Only a search has a query; a filter on anything else would be ignored, and its sender misled. */
function refuseQuery (request: FastifyRequest): void {
  const [name] = readPairs(queryOf(request)).keys()
  if (name !== undefined) throw refused('query', 'this request takes no query')
}
