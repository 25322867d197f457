import type { Role } from '../../config/actor.js'
import type { Change } from '../../keys/change-feed.js'
import type { Mode } from '../../config/mode.js'
import type { WebhookDeliveryRow, WebhookRetryRow, WebhookRow } from './webhook-tables.js'
import type { JobStatus } from '../../jobs/model/job.js'
import type { MonthTotal, UsageLine } from '../../limits/usage.js'

/**
 * The tables of the control database. In SQL their names are in snake case. Times are ISO 8601 text in UTC and booleans
 * are 0 or 1, so that SQLite and PostgreSQL store the same.
 */
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
  usageSources: BatchSourceRow
  usageHours: UsageHourRow
  usageMonths: UsageMonthRow
  jobs: JobRow
  jobTurn: JobTurnRow
  importIdentities: ImportIdentityRow
  eventSources: BatchSourceRow
  eventCounter: EventCounterRow
  events: EventRow
  webhooks: WebhookRow
  webhookRetries: WebhookRetryRow
  webhookDeliveries: WebhookDeliveryRow
}

/** An organization, which is a tenant. */
export interface OrganizationRow {
  tenantId: string
  name: string
  plan: string
  overage: number
  createdAt: string
  /** The name of the organization's own datastore in the configuration of the gateways. */
  datastore: string | null
}

/** A key without its secret. `hint` is the last four characters of the secret; `scopes` is separated by commas. */
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
  /** The id of the key that replaced it when it was rolled. */
  successor: string | null
  /** Updated from the usage that gateways report, without a line in the audit trail. */
  lastUsedAt: string | null
}

/**
 * The one row with the id of this control plane and the numbers of its latest change and its latest line of the audit
 * trail.
 */
interface FeedRow {
  feedId: string
  seq: number
  auditSeq: number
}

/** The latest change to each organization and key. `payload` is its complete state as JSON. */
interface ChangeRow {
  kind: Change['kind']
  entity: string
  seq: number
  payload: string
  at: string
}

/** The audit trail; rows are only ever added. `detail` is JSON. */
interface AuditRow {
  seq: number
  at: string
  actor: string
  action: string
  entity: string
  /** The organization that it concerns, or null. */
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
  /** With `subject`, the person's identity at the OpenID provider. */
  issuer: string | null
  subject: string | null
  createdAt: string
  createdBy: string
  lastSignInAt: string | null
}

/** A link by which one person can become a member, once. Only a hash of its token is stored. */
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

/** A browser's session, with a hash of its id. `content` is JSON; `memberId` is null before sign-in. */
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

/**
 * The latest report of a gateway. `checks` is JSON; `reachedAt` is when it first reported `seq`, by the control plane's
 * clock.
 */
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

/** A bulk job. `owner`, `request`, `files`, `errors`, `failure` and `checkpoint` are JSON. */
export interface JobRow {
  id: string
  tenantId: string
  mode: Mode
  owner: string
  status: JobStatus
  request: string
  storeId: string
  fileKey: string
  total: number | null
  processed: number
  failed: number
  files: string
  errors: string
  failure: string | null
  checkpoint: string | null
  createdAt: string
  startedAt: string | null
  completedAt: string | null
  expiresAt: string
  /** The gateway that last claimed it. */
  gateway: string | null
  leaseNumber: number
  /** When the lease ends; null if there is none. */
  leasedUntil: string | null
  /** The earliest time at which it may be claimed. */
  notBefore: string
  failures: number
}

/** The one row that is locked to create or claim a job. */
interface JobTurnRow { claims: number }

/** The secret from which the ids of an organization's imported records are derived. */
interface ImportIdentityRow {
  tenantId: string
  mode: Mode
  secret: string
}

/** A change of a record. It has ids only: nothing clinical. */
export interface EventRow {
  /** Where it stands among all events of the control plane. */
  sequence: number
  id: string
  organizationId: string
  mode: Mode
  type: string
  createdAt: string
  resourceType: string
  resourceId: string
  versionId: string | null
  requestId: string
}

/** The one row with the sequence number of the latest event. */
interface EventCounterRow { sequence: number }

/** The last batch that was applied from a file of a gateway: its usage ledger, or its event log. */
interface BatchSourceRow {
  ledgerId: string
  /** The gateway that sent it. */
  gateway: string
  number: number
  batchId: string
  appliedAt: string
}

/** The number of requests of all gateways in an hour, for one combination of the other columns. */
export interface UsageHourRow extends Omit<UsageLine, 'isCounted' | 'isOverage' | 'lastAt' | 'count'> {
  isCounted: number
  isOverage: number
  count: number
}

/** How many requests of a pool counted in a month, and how many of them were above the quota. */
export interface UsageMonthRow extends MonthTotal {
  overage: number
}
