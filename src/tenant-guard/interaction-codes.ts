import type { InteractionKind } from './interaction.js'

/** A kind of interaction in R4's own terms, for the audit log and metrics. */
export interface InteractionCode {
  /** http://hl7.org/fhir/R4/valueset-type-restful-interaction.html */
  readonly restful:
    | 'read'
    | 'vread'
    | 'history-instance'
    | 'search-type'
    | 'create'
    | 'update'
    | 'patch'
    | 'delete'
    | 'batch'
    | 'transaction'
    | 'operation'
  /**
   * Create, read, update, delete or execute, as a search does with a query:
   * http://hl7.org/fhir/R4/valueset-audit-event-action.html
   */
  readonly action: 'C' | 'R' | 'U' | 'D' | 'E'
  /** Whether its response is a list of records. */
  readonly isList: boolean
}

/** Every kind, so that none is missing in the audit trail and in the usage. */
export const interactionCodes: Readonly<Record<InteractionKind, InteractionCode>> = {
  read: { restful: 'read', action: 'R', isList: false },
  vread: { restful: 'vread', action: 'R', isList: false },
  history: { restful: 'history-instance', action: 'R', isList: true },
  'read-related': { restful: 'search-type', action: 'R', isList: true },
  search: { restful: 'search-type', action: 'E', isList: true },
  everything: { restful: 'operation', action: 'E', isList: true },
  create: { restful: 'create', action: 'C', isList: false },
  'create-once': { restful: 'create', action: 'C', isList: false },
  'conditional-create': { restful: 'create', action: 'C', isList: false },
  update: { restful: 'update', action: 'U', isList: false },
  'conditional-update': { restful: 'update', action: 'U', isList: false },
  patch: { restful: 'patch', action: 'U', isList: false },
  'conditional-patch': { restful: 'patch', action: 'U', isList: false },
  delete: { restful: 'delete', action: 'D', isList: false },
  'conditional-delete': { restful: 'delete', action: 'D', isList: false },
  import: { restful: 'operation', action: 'C', isList: false },
  validate: { restful: 'operation', action: 'E', isList: false },
  terminology: { restful: 'operation', action: 'E', isList: false },
  export: { restful: 'operation', action: 'E', isList: false },
  batch: { restful: 'batch', action: 'E', isList: false },
  transaction: { restful: 'transaction', action: 'E', isList: false }
}
