import type { JobStatus } from '../../jobs/model/job.js'
import type { Mode } from '../../config/mode.js'

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
export interface JobTurnRow { claims: number }

/** The secret from which the ids of an organization's imported records are derived. */
export interface ImportIdentityRow {
  tenantId: string
  mode: Mode
  secret: string
}
