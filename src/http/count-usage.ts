import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type {} from '../limits/monthly-quota.js'
import { isBillable, type UsageEvent, type UsageInteraction, type UsageOutcome } from '../limits/usage.js'
import { interactionCodes, type InteractionCode } from '../tenant-guard/interaction-codes.js'
import { resourceTypes } from '../fhir/resource-types.js'

/** Counts a request that came in at a time, ISO 8601 in UTC. */
export type CountUsage = (use: UsageEvent, at: string) => void

/**
 * Counts every request of a known caller once, when its response is made. One whose client did not wait for the
 * response counts too: the work was done. The event contains nothing of the URL, an id or a body; all names are those
 * of our routes and of R4.
 */
export const usageMetering = fp<{ readonly countUsage: CountUsage }>(async (app, { countUsage }) => {
  app.decorateRequest('isCounted', false)
  app.addHook('onSend', (request, reply, payload, done) => {
    // Authentication has refused callers without an organization; a response that can't be sent is followed by another
    // one.
    if (request.caller !== undefined && !request.isCounted) {
      request.isCounted = true
      countUsage(toUsageEvent(request, reply), request.arrivedAt)
    }
    done(null, payload)
  })
}, { name: 'count-usage', dependencies: ['authenticate', 'identity'], fastify: '5.x' })

function toUsageEvent (request: FastifyRequest, { statusCode: status }: FastifyReply): UsageEvent {
  const { tenantId, mode, keyId } = request.caller
  const counts = isBillable(status) && request.quota?.isFree !== true
  return {
    tenantId,
    mode,
    keyId,
    ...toLabels(request),
    outcome: toUsageOutcome(status),
    isCounted: counts,
    isOverage: counts && request.quota?.isOverage === true
  }
}

function toUsageOutcome (status: number): UsageOutcome {
  if (status >= 500) return 'failed'
  if (status === 401 || status === 403 || status === 429) return 'refused'
  return status >= 400 ? 'error' : 'ok'
}

type FhirLabels = Pick<UsageEvent, 'resource' | 'interaction'>

const unknown: FhirLabels = { resource: 'other', interaction: 'other' }

/** By the pattern of the route, such as `/v1/patients/:id`, which contains nothing from the client. */
function toLabels (request: FastifyRequest): FhirLabels {
  const [, , resource, ...rest] = (request.routeOptions.url ?? '').split('/')
  if (resource === undefined) return unknown
  if (resource === 'fhir') return toFhirLabels(request)
  if (resource === 'usage') return { resource, interaction: 'read' }
  if (resource === 'bulk') return { resource, interaction: toBulkInteraction(rest, request.method) }
  const interactions = rest.length === 0 ? onGroup : rest.length === 1 && rest[0] === ':id' ? onRecord : {}
  return { resource, interaction: interactions[request.method] ?? 'other' }
}

const onGroup: Readonly<Record<string, UsageInteraction>> = { GET: 'search', HEAD: 'search', POST: 'create' }
const onRecord: Readonly<Record<string, UsageInteraction>> = {
  GET: 'read',
  HEAD: 'read',
  PATCH: 'update',
  DELETE: 'delete'
}

/** A job is a record; to start one is an operation. */
function toBulkInteraction ([what, ...rest]: readonly string[], method: string): UsageInteraction {
  if (what !== 'jobs') return 'operation'
  if (method === 'DELETE') return 'delete'
  return rest.length === 0 ? 'search' : 'read'
}

/** A request that was not understood counts under its type, if that is one of R4. */
function toFhirLabels ({ understood, raw, routeOptions }: FastifyRequest): FhirLabels {
  if (understood !== undefined) {
    return { resource: understood.type, interaction: interactionsByCode[interactionCodes[understood.kind].restful] }
  }
  const type = raw.url!.slice('/v1/fhir/'.length).split(/[/?]/, 1)[0]!
  return { ...unknown, ...routeOptions.url !== undefined && resourceTypes.has(type) && { resource: type } }
}

const interactionsByCode: Readonly<Record<InteractionCode['restful'], UsageInteraction>> = {
  read: 'read',
  vread: 'read',
  'history-instance': 'history',
  'search-type': 'search',
  create: 'create',
  update: 'update',
  patch: 'patch',
  delete: 'delete',
  operation: 'operation',
  batch: 'batch',
  transaction: 'transaction'
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether {@link usageMetering} has counted it. */
    isCounted: boolean
  }
}
