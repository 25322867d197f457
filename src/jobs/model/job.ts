import type { Caller, Scope } from '../../keys/caller.js'
import { simplifyScopes } from '../../keys/scopes.js'
import type { Mode } from '../../config/mode.js'

/** The kinds of jobs: a bulk export (http://hl7.org/fhir/uv/bulkdata/), or an import. */
export const jobKinds = ['export', 'import'] as const
export type JobKind = typeof jobKinds[number]

/** The pattern of job ids, which are unguessable. */
export const jobIdForm = '^job-[a-z2-7]{26}$'

const jobId = new RegExp(jobIdForm)

/** Whether a text has the form of a job id. */
export const isJobId = (id: string): boolean => jobId.test(id)

/** The states of a job. The last three are final. */
export const jobStatuses = ['pending', 'processing', 'completed', 'failed', 'cancelled'] as const
export type JobStatus = typeof jobStatuses[number]

/**
 * The caller who started a job, as of that request. It alone determines the datastore and the tenant tag. The monthly
 * quota is checked for each record as it is processed.
 */
export type JobOwner = Pick<Caller, 'tenantId' | 'mode' | 'keyId' | 'keyName' | 'plan' | 'overage' | 'datastore'> & {
  /** Of a key with limits: the job does nothing that the key may not do. Absent for one without. */
  readonly scopes?: readonly Scope[]
}

/** The owner of a job that a caller starts. */
export function ownerOf (caller: JobOwner): JobOwner {
  const { tenantId, mode, keyId, keyName, plan, overage, datastore, scopes } = caller
  const isLimitedKey = scopes !== undefined && scopes.some(scope => scope.includes(':'))
  return {
    tenantId,
    mode,
    keyId,
    keyName,
    plan,
    overage,
    ...datastore !== undefined && { datastore },
    ...isLimitedKey && { scopes: simplifyScopes(scopes) }
  }
}

/** The jobs of one organization in one mode. */
export interface JobScope { readonly tenantId: string, readonly mode: Mode }

/** The form of exported records: FHIR or the simple form. */
export const exportFormats = ['fhir', 'simple'] as const
export type ExportFormat = typeof exportFormats[number]

/** The scope of an export: all records, those in the compartments of all patients, or those of a group's members. */
export const exportLevels = ['system', 'patient', 'group'] as const
export type ExportLevel = typeof exportLevels[number]

/** The options of an export. */
export interface ExportRequest {
  readonly kind: 'export'
  /** R4 types without duplicates, in the order of the manifest. */
  readonly types: readonly string[]
  /** Only records that changed since this time, ISO 8601. */
  readonly since?: string
  /** Only records whose last change was before this time, ISO 8601. */
  readonly until?: string
  readonly format: ExportFormat
  /**
   * The validated searches of `_typeFilter` by type. Several for one type are alternatives. They are stored {@link
   * sealed}.
   */
  readonly filters?: Readonly<Record<string, ReadonlyArray<ReadonlyArray<readonly [name: string, value: string]>>>>
  /** The elements of `_elements`, in addition to mandatory ones: `id` is for every type, `Patient.name` for one. */
  readonly elements?: readonly string[]
  readonly level: ExportLevel
  readonly groupId?: string
  /** The ids of the patients whose records are wanted; absent for all. They are stored {@link sealed}. */
  readonly patients?: readonly string[]
  /** Types that the client did not name and may not read. */
  readonly leftOutTypes?: readonly string[]
  /** The URL of the request, for the manifest. */
  readonly url: string
  /**
   * The size and mark of the job's file that holds the filters, the patients and the URL's query. If present, they are
   * stored nowhere else.
   */
  readonly sealed?: Required<Pick<JobFile, 'bytes' | 'mark'>>
}

/** A request without the types that its sender may not read, which it names. */
export function limitTypes<T extends Pick<ExportRequest, 'types'>> (
  request: T, mayRead: (type: string) => boolean
): T & Pick<ExportRequest, 'leftOutTypes'> {
  const leftOutTypes = request.types.filter(type => !mayRead(type))
  return { ...request, types: request.types.filter(mayRead), ...leftOutTypes.length > 0 && { leftOutTypes } }
}

/** How to import the input, which is a file of the job. */
export interface ImportRequest {
  readonly kind: 'import'
  /** The R4 type of lines that do not state their own. */
  readonly type?: string
  /** Checks everything and writes nothing. */
  readonly dryRun: boolean
  /** The gateway's base URL as the caller reached it, for links in the job. */
  readonly url: string
}

/**
 * The request of a job. It contains no content of a record, no search value and no secret: those, and URLs to fetch,
 * are in a file of the job.
 */
export type JobRequest = ExportRequest | ImportRequest

/** A job's progress, in records. */
export interface Progress {
  /** Absent until it is known. */
  readonly total?: number
  readonly processed: number
  readonly failed: number
}

/** A file that clients can download. */
export interface JobFile {
  /** A name that is safe in a path: `Patient.ndjson`. */
  readonly name: string
  readonly resourceType: string
  /** The number of lines. */
  readonly count: number
  readonly bytes: number
  /**
   * Authenticates the content, so that the file can't be replaced by an earlier version. Without it, the file is not
   * served.
   */
  readonly mark?: string
}

/** The error of one line of an import, with a code of the error catalog. Lines count from 1. */
export interface LineError { readonly line: number, readonly code: string, readonly message: string }

/** Why a job failed, as shown to the client. */
interface JobFailure { readonly code: string, readonly message: string }

/** A bulk job as stored. Times are ISO 8601. */
export interface Job {
  /** Matches {@link jobIdForm}. */
  readonly id: string
  readonly owner: JobOwner
  readonly status: JobStatus
  readonly request: JobRequest
  /** The file store that has the job's files. Only gateways that can reach it can work on the job. */
  readonly storeId: string
  /**
   * The encryption key of the job's files: 32 bytes in base64. It is deleted with the job, which makes the files
   * unreadable.
   */
  readonly fileKey: string
  readonly progress: Progress
  readonly files: readonly JobFile[]
  /** The first hundred errors. */
  readonly errors: readonly LineError[]
  readonly failure?: JobFailure
  /** The state from which a worker can resume the job. Only workers read it. */
  readonly checkpoint?: unknown
  readonly createdAt: string
  readonly startedAt?: string
  readonly completedAt?: string
  /** When the job and its files are deleted. */
  readonly expiresAt: string
}

/** A new job. Its files must be in place before it is created. */
export type JobDraft = Pick<Job, 'id' | 'owner' | 'request' | 'storeId' | 'fileKey'> &
  Partial<Pick<Job, 'progress' | 'checkpoint'>>

/** A change to a job in progress. Absent members stay unchanged. */
export interface JobChange extends Partial<Pick<Job, 'progress' | 'files' | 'errors' | 'checkpoint'>> {
  /** Ends the job. */
  readonly end?: { readonly status: 'completed' } | { readonly status: 'failed', readonly failure: JobFailure }
}

/** A gateway that works on jobs. */
export interface Worker {
  readonly gateway: string
  readonly storeId: string
  /** The maximum number of concurrent jobs of one organization, across all gateways. */
  readonly perTenant: number
  /**
   * How long a lease lasts unless it is renewed by a save. It must be the same for all workers of a store: a lease that
   * ends later is taken as a sign that the clock was set back.
   */
  readonly leaseMs: number
}

/** A worker's right to a job until it expires. Each new lease of a job has a higher number. */
export interface Lease { readonly jobId: string, readonly number: number }

/** A job with its lease. */
export interface ClaimedJob {
  readonly job: Job
  readonly lease: Lease
  /** How often it failed, or its worker died, since it last made progress. */
  readonly failures: number
}

/** A page of the jobs of a scope, with totals. */
export interface JobPage {
  readonly jobs: readonly Job[]
  readonly total: number
  /** The number of jobs that wait or run. Absent if the control plane is older than the gateway. */
  readonly unfinished?: number
}

/** The result of saving a change: continue, the client cancelled the job, or another worker has it. */
export const saveResults = ['going on', 'cancelled', 'lost'] as const
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
