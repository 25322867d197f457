import { Readable } from 'node:stream'
import fp from 'fastify-plugin'
import type { FastifyReply } from 'fastify'
import type { AuditEntry } from '../observability/audit-log/entry.js'
import { catalog, Failure, type FailureDetails } from '../envelope/failures.js'
import type { JobOwner } from '../jobs/model/job.js'
import type {} from '../keys/authenticate.js'
import type { Access } from '../tenant-guard/guard.js'
import { interactionCodes } from '../tenant-guard/interaction-codes.js'

/** Where accesses are recorded. */
export interface AccessAuditSink {
  /** Records an access of the owner's. Resolves when the line is on the disk. */
  readonly add: (entry: AuditEntry, owner: JobOwner) => Promise<void>
  readonly isFailing: () => boolean
  /** Whether requests are refused while their accesses cannot be recorded. */
  readonly isRequired: boolean
  /** Whether the lines of searches name every record that was shown. */
  readonly logsSearchResultIds: boolean
}

const retryAfterSeconds = 5

/** Absent if accesses are not recorded. */
export interface AuditAccessesOptions { readonly accounts?: AccessAuditSink }

/**
 * Records what each request of a known caller did to which records: a line for each access, or one for a request
 * without any. If that is required, a response waits for its lines, and requests are refused while lines can't be
 * written.
 */
export const auditAccesses = fp<AuditAccessesOptions>(async (app, { accounts }) => {
  if (accounts === undefined) return
  app.decorateRequest('accesses')
  app.addHook('onRequest', async request => {
    if (accounts.isRequired && accounts.isFailing()) {
      throw auditUnavailable({
        message: 'Nothing was done, because the access audit log cannot be written at the moment.',
        retryAfterSeconds
      })
    }
    request.accesses = []
  })
  app.addHook('onSend', async (request, reply, payload) => {
    const { accesses } = request
    // A response that replaces another one is not a second access.
    if (accesses === undefined) return payload
    request.accesses = undefined
    const written = Promise.all(
      toAuditEntries(reply, accesses, accounts.logsSearchResultIds).map(entry => accounts.add(entry, request.caller))
    )
    if (!accounts.isRequired) {
      written.catch(() => {})
      return payload
    }
    await written.catch(error => {
      if (payload instanceof Readable) payload.destroy()
      throw auditUnavailable({
        message: catalog.BACKEND_TIMEOUT.remedy,
        headers: { 'retry-after': String(retryAfterSeconds) },
        cause: error
      })
    })
    return payload
  })
}, { name: 'audit-accesses', dependencies: ['authenticate', 'identity'], fastify: '5.x' })

function auditUnavailable (details: FailureDetails): Failure {
  return new Failure('BACKEND_UNAVAILABLE', { cause: 'the access audit log cannot be written', ...details })
}

function toAuditEntries (
  { request, statusCode: status }: FastifyReply,
  accesses: readonly Access[],
  logsSearchResultIds: boolean
): AuditEntry[] {
  const {
    caller: { tenantId, keyId, mode },
    id: requestId,
    arrivedAt: time,
    method,
    routeOptions: { url: route }
  } = request
  const audited: AuditedRequest = {
    time,
    requestId,
    tenantId,
    keyId,
    mode,
    method,
    status,
    ...(route !== undefined && { route })
  }
  // A change implies a read of the same record, so no line records that read.
  const changed = new Set(accesses.filter(({ kind }) => kind !== 'read').map(({ type, id }) => `${type}/${id}`))
  const auditedAccesses = accesses.filter(({ kind, type, id }) => kind !== 'read' || !changed.has(`${type}/${id}`))
  return auditedAccesses.length === 0
    ? [toAuditEntry(audited)]
    : auditedAccesses.map(access => toAuditEntry(audited, access, logsSearchResultIds))
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Accesses of this request so far, if they are recorded. */
    accesses: Access[] | undefined
  }
}

/** The common parts of the lines of one request. */
interface AuditedRequest extends Pick<
  AuditEntry,
  'time' | 'requestId' | 'tenantId' | 'keyId' | 'mode' | 'route'
> {
  readonly method: string
  readonly status: number
}

const actionsByMethod: Readonly<Record<string, AuditEntry['action']>> = {
  GET: 'R',
  HEAD: 'R',
  POST: 'C',
  PUT: 'U',
  PATCH: 'U',
  DELETE: 'D'
}

/**
 * The line of one access, or of a request without any: one that was refused earlier, or that concerns no clinical data.
 */
function toAuditEntry (
  { method, status, ...request }: AuditedRequest,
  access?: Access,
  logsSearchResultIds = false
): AuditEntry {
  if (access === undefined) {
    const isJob = request.route?.startsWith('/v1/bulk/') === true && method === 'POST'
    return { ...request, action: isJob ? 'E' : (actionsByMethod[method] ?? 'E'), outcome: toOutcomeCode(status) }
  }
  const { kind, type, id, shown, failure } = access
  const { action, isList } = interactionCodes[kind]
  return {
    ...request,
    action,
    interaction: kind,
    type,
    ...(id !== undefined && { id }),
    ...(isList && failure === undefined && { records: shown.length }),
    ...(isList && logsSearchResultIds && { shown }),
    outcome: toOutcomeCode(failure === undefined ? 200 : catalog[failure].status),
    ...(failure !== undefined && { code: failure })
  }
}

function toOutcomeCode (status: number): AuditEntry['outcome'] {
  if (status >= 500) return '8'
  return status >= 400 ? '4' : '0'
}
