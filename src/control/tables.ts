import type { Role } from '../actor.js'
import type { Change } from '../keys/change-feed.js'
import type { Mode } from '../mode.js'
import type { ImportIdentityRow, JobRow, JobTurnRow } from './job-tables.js'
import type { UsageHourRow, UsageMonthRow, UsageSourceRow } from './usage-tables.js'

/** The control plane's tables, whose names have underscores in SQL. Times are ISO 8601 text in UTC, switches 0 or 1, so that SQLite and PostgreSQL hold the same. */
export interface Tables {
  organizations: OrganizationRow
  keys: KeyRow
  feed: FeedRow
  changes: ChangeRow
  auditTrail: AuditRow
  members: MemberRow
  invitations: InvitationRow
  sessions: SessionRow
  tokens: TokenRow
  gateways: GatewayRow
  usageSources: UsageSourceRow
  usageHours: UsageHourRow
  usageMonths: UsageMonthRow
  jobs: JobRow
  jobTurn: JobTurnRow
  importIdentities: ImportIdentityRow
}

/** A customer, that is a tenant. */
export interface OrganizationRow {
  tenantId: string
  name: string
  plan: string
  overage: number
  createdAt: string
  /** The name of a datastore of its own, as gateways are configured. */
  datastore: string | null
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
  /** Kept by what gateways count, without a line in the audit trail. */
  lastUsedAt: string | null
}

/** The one row that says which control plane this is, and what numbers its latest change and its latest deed have. */
interface FeedRow {
  feedId: string
  seq: number
  auditSeq: number
}

/** The latest change of each organization and key; `payload` is its whole state as JSON. */
interface ChangeRow {
  kind: Change['kind']
  entity: string
  seq: number
  payload: string
  at: string
}

/** Who did what and when; rows are only ever added. `detail` is JSON. */
interface AuditRow {
  seq: number
  at: string
  actor: string
  action: string
  entity: string
  /** The organization that it concerns; null where it concerns none. */
  tenantId: string | null
  detail: string
}

/** A person who may sign in; operators belong to no organization. `email` is in lower case. */
export interface MemberRow {
  memberId: string
  tenantId: string | null
  email: string
  name: string
  role: Role
  /** Null for a person who signs in at an OpenID provider. */
  passwordHash: string | null
  mustChangePassword: number
  /** Who this is at the OpenID provider. */
  issuer: string | null
  subject: string | null
  createdAt: string
  createdBy: string
  lastSignInAt: string | null
}

/** A link by which one person may become a member, once; only a hash of its token is stored. */
export interface InvitationRow {
  invitationId: string
  tokenHash: string
  tenantId: string | null
  email: string
  role: Role
  createdAt: string
  createdBy: string
  expiresAt: string
}

/** A browser's session by a hash of its id; `content` is JSON, `memberId` null before the sign-in. */
interface SessionRow {
  idHash: string
  memberId: string | null
  content: string
  createdAt: string
  seenAt: string
  expiresAt: string
}

/** A token of a program, or of a gateway. */
export interface TokenRow {
  tokenId: string
  tenantId: string | null
  name: string
  role: Role | 'gateway'
  hash: string
  hint: string
  createdAt: string
  createdBy: string
  expiresAt: string | null
  revokedAt: string | null
}

/** What a gateway last said of itself; `checks` is JSON, `reachedAt` when it reached `seq`, by the control plane's clock. */
export interface GatewayRow {
  gatewayId: string
  name: string
  version: string
  startedAt: string
  seenAt: string
  feedId: string
  seq: number
  reachedAt: string
  checks: string
}
