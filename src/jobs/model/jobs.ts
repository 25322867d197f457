import type { ClaimedJob, Job, JobChange, JobDraft, JobPage, JobScope, Lease, Worker } from './job.js'

/** The result of saving a change: continue, the client cancelled the job, or another worker has it. */
export const saveResults = ['ok', 'cancelled', 'lost'] as const
export type SaveResult = typeof saveResults[number]

/** The maximum size of {@link Job.checkpoint}, in characters of JSON. */
export const maxCheckpoint = 65_536

/**
 * The jobs of all gateways, stored by the control plane. Calls on behalf of a client name its scope. Jobs of other
 * scopes are missing, and so are expired jobs.
 */
export interface Jobs {
  /** Idempotent for the same id. @throws {Failure} RATE_LIMITED if the organization has too many unfinished jobs */
  create: (draft: JobDraft) => Promise<Job>
  find: (id: string, scope: JobScope) => Promise<Job | undefined>
  /** Newest first. `before` is the last job of the previous page. */
  list: (
    scope: JobScope,
    page: { readonly count: number; readonly before?: Pick<Job, 'id' | 'createdAt'> }
  ) => Promise<JobPage>
  /** Cancels a job. A finished job stays unchanged. */
  cancel: (id: string, scope: JobScope) => Promise<Job | undefined>
  /** Cancels a job if it is unfinished, and lets it expire now. It is missing from then on. */
  discard: (id: string, scope: JobScope) => Promise<void>
  /** Leases the oldest job without a worker, of an organization below its limit of concurrent jobs. */
  claim: (worker: Worker) => Promise<ClaimedJob | undefined>
  /** Stores a worker's change and renews its lease. */
  save: (lease: Lease, change: JobChange, leaseMs: number) => Promise<SaveResult>
  /** Releases a job's lease. It can be claimed again immediately or, after a failure, in `afterMs` milliseconds. */
  release: (lease: Lease, error?: { readonly afterMs: number }) => Promise<void>
  /** The ids of expired jobs of a store. Call {@link Jobs.forget} once their files are deleted. */
  expired: (storeId: string) => Promise<readonly string[]>
  /** Those of the ids that are jobs. Files of any other id are orphaned. */
  existing: (ids: readonly string[]) => Promise<readonly string[]>
  /** Those of the ids that are failed or cancelled jobs without a worker. */
  abandoned: (ids: readonly string[]) => Promise<readonly string[]>
  forget: (ids: readonly string[]) => Promise<void>
  /**
   * The secret from which the ids of an organization's imported records are derived: 32 bytes in base64. Created on
   * first use, and never changed.
   */
  identityKey: (scope: JobScope) => Promise<string>
}
