import type { AuditEntry } from '../audit-log/entry.js'
import { catalog } from '../envelope/failures.js'
import type { Access } from '../tenant-guard/guard.js'

/** What the lines of one request have in common. */
export interface AuditedRequest extends Pick<AuditEntry, 'time' | 'requestId' | 'tenantId' | 'keyId' | 'mode' | 'route'> {
  readonly method: string
  readonly status: number
}

type Action = AuditEntry['action']

/** A search executes a query, as http://hl7.org/fhir/R4/valueset-audit-event-action.html has it. */
const actions: Readonly<Record<Access['kind'], Action>> = {
  read: 'R',
  vread: 'R',
  history: 'R',
  'read-related': 'R',
  search: 'E',
  everything: 'E',
  create: 'C',
  'create-once': 'C',
  'conditional-create': 'C',
  update: 'U',
  'conditional-update': 'U',
  patch: 'U',
  'conditional-patch': 'U',
  delete: 'D',
  'conditional-delete': 'D',
  import: 'C',
  validate: 'E',
  terminology: 'E',
  export: 'E',
  batch: 'E',
  transaction: 'E'
}

const ofMethod: Readonly<Record<string, Action>> = { GET: 'R', HEAD: 'R', POST: 'C', PUT: 'U', PATCH: 'U', DELETE: 'D' }

/** Kinds whose answer is a list of records. */
const lists = new Set<Access['kind']>(['search', 'history', 'read-related', 'everything'])

/** The line of one access, or of a request that came to none: one that was refused before, or asks for nothing clinical. */
export function entryOf ({ method, status, ...request }: AuditedRequest, access?: Access, namesShown = false): AuditEntry {
  if (access === undefined) {
    const isJob = request.route?.startsWith('/v1/bulk/') === true && method === 'POST'
    return { ...request, action: isJob ? 'E' : ofMethod[method] ?? 'E', outcome: outcomeOf(status) }
  }
  const { kind, type, id, shown, failure } = access
  return {
    ...request,
    action: actions[kind],
    interaction: kind,
    type,
    ...id !== undefined && { id },
    ...lists.has(kind) && failure === undefined && { records: shown.length },
    ...lists.has(kind) && namesShown && { shown },
    outcome: outcomeOf(failure === undefined ? 200 : catalog[failure].status),
    ...failure !== undefined && { code: failure }
  }
}

function outcomeOf (status: number): AuditEntry['outcome'] {
  if (status >= 500) return '8'
  return status >= 400 ? '4' : '0'
}
