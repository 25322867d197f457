import type { Mode } from '../config/mode.js'

/**
 * The permissions of a key: `read` GET and HEAD, `write` POST, PUT, PATCH and DELETE, `webhooks` the webhooks of its
 * organization, `*` everything.
 */
export const scopes = ['read', 'write', 'webhooks', '*'] as const
export type Scope = typeof scopes[number]

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
