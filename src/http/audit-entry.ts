import type { AuditEntry } from '../observability/audit-log/entry.js'
import { catalog } from '../envelope/failures.js'
import type { Access } from '../tenant-guard/guard.js'
import { interactionCodes } from '../tenant-guard/interaction-codes.js'

/** What the lines of one request have in common. */
export interface AuditedRequest extends Pick<
  AuditEntry,
  'time' | 'requestId' | 'tenantId' | 'keyId' | 'mode' | 'route'
> {
  readonly method: string
  readonly status: number
}

const ofMethod: Readonly<Record<string, AuditEntry['action']>> = {
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
export function toAuditEntry (
  { method, status, ...request }: AuditedRequest,
  access?: Access,
  namesShown = false
): AuditEntry {
  if (access === undefined) {
    const isJob = request.route?.startsWith('/v1/bulk/') === true && method === 'POST'
    return { ...request, action: isJob ? 'E' : (ofMethod[method] ?? 'E'), outcome: outcomeOf(status) }
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
    ...(isList && namesShown && { shown }),
    outcome: outcomeOf(failure === undefined ? 200 : catalog[failure].status),
    ...(failure !== undefined && { code: failure })
  }
}

function outcomeOf (status: number): AuditEntry['outcome'] {
  if (status >= 500) return '8'
  return status >= 400 ? '4' : '0'
}
