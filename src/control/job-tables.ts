import type { JobStatus } from '../jobs/job.js'
import type { Mode } from '../mode.js'

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
  /** Who last claimed it. */
  gateway: string | null
  leaseNumber: number
  /** Until when somebody has it; null while nobody does. */
  leasedUntil: string | null
  /** Nobody is to take it sooner. */
  notBefore: string
  failures: number
}

/** The one row that whoever makes or claims a job takes first, one after another. */
export interface JobTurnRow { claims: number }

/** The secret by which an organization's imported records get their ids. */
export interface ImportIdentityRow {
  tenantId: string
  mode: Mode
  secret: string
}
