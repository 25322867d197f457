import type { Mode } from '../keys/caller.js'
import type { Change } from '../keys/change-feed.js'

/** The control plane's tables, whose names have underscores in SQL. Times are ISO 8601 text in UTC, switches 0 or 1, so that SQLite and PostgreSQL hold the same. */
export interface Tables {
  organizations: OrganizationRow
  keys: KeyRow
  feed: FeedRow
  changes: ChangeRow
  auditTrail: AuditRow
}

/** A customer, that is a tenant. */
export interface OrganizationRow {
  tenantId: string
  name: string
  plan: string
  overage: number
  createdAt: string
}

/** A key without its secret; `hint` is the secret's last four characters, `scopes` has commas between. */
export interface KeyRow {
  keyId: string
  tenantId: string
  name: string
  mode: Mode
  scopes: string
  hash: string
  hint: string
  createdAt: string
  createdBy: string
  expiresAt: string | null
  revokedAt: string | null
  /** The key that it was rolled to. */
  successor: string | null
}

/** The one row that says which control plane this is and what number its latest change has. */
export interface FeedRow {
  feedId: string
  seq: number
}

/** The latest change of each organization and key; `payload` is its whole state as JSON. */
export interface ChangeRow {
  kind: Change['kind']
  entity: string
  seq: number
  payload: string
  at: string
}

/** Who did what and when; rows are only ever added. `detail` is JSON. */
export interface AuditRow {
  seq: number
  at: string
  actor: string
  action: string
  entity: string
  detail: string
}
