import type { Mode } from '../../config/mode.js'
import type { InteractionKind } from '../../tenant-guard/interaction.js'
import type { InteractionCode } from '../../tenant-guard/interaction-codes.js'

/**
 * The entry of the access audit log for one access: the actor, the action, the record, the time and the outcome. It has
 * none of a record's content.
 */
export interface AuditEntry {
  /** When the request came in, ISO 8601 in UTC. */
  readonly time: string
  /** Of the request, or the id of the bulk job. */
  readonly requestId: string
  readonly tenantId: string
  readonly keyId: string
  readonly mode: Mode
  /** The pattern of the route; absent where there is none. */
  readonly route?: string
  readonly action: InteractionCode['action']
  /** The request's interaction; absent for a request that was refused earlier. */
  readonly interaction?: InteractionKind
  /** The resource type, where the access has one. */
  readonly type?: string
  readonly id?: string
  /** How many records were shown, or done by a job. */
  readonly records?: number
  /** Which, as `Type/id`, where that is wanted. */
  readonly shown?: readonly string[]
  /** Success, the client's fault, or ours: http://hl7.org/fhir/R4/valueset-audit-event-outcome.html */
  readonly outcome: '0' | '4' | '8'
  /** The code of the error. */
  readonly code?: string
}

/** Lines that were discarded before this one, because the disk failed for too long. */
export interface AuditGap { readonly time: string, readonly action: 'gap', readonly records: number }

/**
 * Accesses before this line whose AuditEvent the organization's datastore did not accept. The log itself lacks none of
 * them.
 */
export interface AuditBacklogEntry extends Pick<AuditEntry, 'time' | 'tenantId' | 'mode'> {
  readonly action: 'unsent'
  readonly records: number
}
