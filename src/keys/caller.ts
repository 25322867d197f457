import type { Mode } from '../config/mode.js'

/** The effect of a request on records; it does not depend on the method alone. */
export type Effect = 'read' | 'write'

/**
 * A permission of a key. `read` and `write` are for all records, `*` is everything; `patients:read`, `patients:write`
 * and `patients:*` are for one resource of the simple API, `fhir/Patient:read` and so on for one type of raw FHIR;
 * `webhooks` is for the webhooks of the organization. What a scope permits is decided in `scopes.ts` alone.
 */
export type Scope = Effect | 'webhooks' | '*' | `${string}:${Effect | '*'}`

/** The sender of a request, identified by its key alone. */
export interface Caller {
  readonly keyId: string
  readonly keyName: string
  readonly tenantId: string
  /** A name in `config/plans.json`: sandbox, starter, pro, team, enterprise. */
  readonly plan: string
  /** The name of its organization's own datastore, on the plan enterprise. */
  readonly datastore?: string
  /** Whether its organization has live requests past the monthly quota served and billed. */
  readonly overage: boolean
  readonly mode: Mode
  readonly scopes: readonly Scope[]
}
