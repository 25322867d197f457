import type { Mode } from '../config/mode.js'

/** What a key may do: `read` GET and HEAD, `write` POST, PUT, PATCH and DELETE, `*` everything. */
export const scopes = ['read', 'write', '*'] as const
export type Scope = typeof scopes[number]

/** Who sent a request, known from its key alone. */
export interface Caller {
  readonly keyId: string
  readonly keyName: string
  readonly tenantId: string
  /** A name in `config/plans.json`: sandbox, starter, pro, team, enterprise. */
  readonly plan: string
  /** The name of its organization's own datastore, on the plan enterprise. */
  readonly datastore?: string
  /** Whether its organization lets live requests past the month's allowance be served and billed. */
  readonly overage: boolean
  readonly mode: Mode
  readonly scopes: readonly Scope[]
}
