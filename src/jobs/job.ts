import type { Caller } from '../keys/caller.js'
import type { Mode } from '../mode.js'

/** What a job does: http://hl7.org/fhir/uv/bulkdata/ out of a datastore, or records into it. */
export const jobKinds = ['export', 'import'] as const
export type JobKind = typeof jobKinds[number]

/** The id of a job: unguessable. */
export const jobIdForm = '^job-[a-z2-7]{26}$'

const jobId = new RegExp(jobIdForm)

/** Whether it could be the id of a job at all. */
export const isJobId = (id: string): boolean => jobId.test(id)

/** Where a job stands; the last three are for good. */
export const jobStatuses = ['pending', 'processing', 'completed', 'failed', 'cancelled'] as const
export type JobStatus = typeof jobStatuses[number]

/** Whom a job works for, as the request that started it found the caller: this alone decides on datastore and tag. What its month allows is decided for each record when it is taken. */
export type JobOwner = Pick<Caller, 'tenantId' | 'mode' | 'keyId' | 'keyName' | 'plan' | 'overage' | 'datastore'>

/** The owner of what a caller starts. */
export function ownerOf ({ tenantId, mode, keyId, keyName, plan, overage, datastore }: JobOwner): JobOwner {
  return { tenantId, mode, keyId, keyName, plan, overage, ...datastore !== undefined && { datastore } }
}

/** Whose jobs are asked for: no other organization's and not those of the other mode. */
export interface JobScope { readonly tenantId: string, readonly mode: Mode }

/** How an export writes records: as FHIR has them, or in the simple form. */
export const exportFormats = ['fhir', 'simple'] as const
export type ExportFormat = typeof exportFormats[number]

/** Whose records an export holds: the system's, those in the compartments of all patients, or of a group's members. */
export const exportLevels = ['system', 'patient', 'group'] as const
export type ExportLevel = typeof exportLevels[number]

/** What an export is to hold. */
export interface ExportRequest {
  readonly kind: 'export'
  /** R4 types, each once, in the order of the manifest. */
  readonly types: readonly string[]
  /** Only records changed since, ISO 8601. */
  readonly since?: string
  readonly format: ExportFormat
  /** The search of each `_typeFilter` by its type, checked; several of one type are alternatives. They are {@link sealed}. */
  readonly filters?: Readonly<Record<string, ReadonlyArray<ReadonlyArray<readonly [name: string, value: string]>>>>
  /** Elements to keep beside those that are mandatory, as `_elements` named them: `id` of every type, `Patient.name` of one. */
  readonly elements?: readonly string[]
  readonly level: ExportLevel
  readonly groupId?: string
  /** The request as the manifest repeats it: the gateway's URL. */
  readonly url: string
  /** How far the job's file is that holds the filters and the URL with its query: where it is there, neither is anywhere else. */
  readonly sealed?: Required<Pick<JobFile, 'bytes' | 'mark'>>
}

/** What an import is to do with its input, which is a file of the job. */
export interface ImportRequest {
  readonly kind: 'import'
  /** The type of lines that do not say their own: an R4 type. */
  readonly type?: string
  /** Checks everything and writes nothing. */
  readonly dryRun: boolean
  /** The base URL of the gateway as the caller reached it, for what the job says of itself. */
  readonly url: string
}

/** What was asked for. No content of a record, no value that is searched for and no secret is in it: those, and URLs to fetch from, are in a file of the job. */
export type JobRequest = ExportRequest | ImportRequest

/** How far a job is, in records. */
export interface Progress {
  /** Absent until it is known. */
  readonly total?: number
  readonly processed: number
  readonly failed: number
}

/** A file that a client may fetch. */
export interface JobFile {
  /** `Patient.ndjson`: a word that is safe in a path. */
  readonly name: string
  readonly resourceType: string
  /** Lines. */
  readonly count: number
  readonly bytes: number
  /** Of its content, so that the file can't be put back as it was before: without it, nothing of the file is given out. */
  readonly mark?: string
}

/** What went wrong with one line of an import, which counts from 1; words of the error catalog. */
export interface LineError { readonly line: number, readonly code: string, readonly message: string }

/** Why a job failed, fit for the client's eyes. */
interface JobFailure { readonly code: string, readonly message: string }

/** One bulk job as it is kept; times are ISO 8601. */
export interface Job {
  /** Of {@link jobIdForm}. */
  readonly id: string
  readonly owner: JobOwner
  readonly status: JobStatus
  readonly request: JobRequest
  /** The place for files that holds this job's; only who reaches it can work on the job. */
  readonly storeId: string
  /** What the job's files are encrypted with: 32 bytes in base64. It goes with the job, and the files are unreadable from then on. */
  readonly fileKey: string
  readonly progress: Progress
  readonly files: readonly JobFile[]
  /** The first hundred. */
  readonly errors: readonly LineError[]
  readonly failure?: JobFailure
  /** Where whoever works on the job can go on; nobody else reads it. */
  readonly checkpoint?: unknown
  readonly createdAt: string
  readonly startedAt?: string
  readonly completedAt?: string
  /** When job and files are deleted. */
  readonly expiresAt: string
}

/** A job that is to be. Its files are in place when it is told. */
export type JobDraft = Pick<Job, 'id' | 'owner' | 'request' | 'storeId' | 'fileKey'> & Partial<Pick<Job, 'progress' | 'checkpoint'>>

/** What may change while a job is worked on; what is absent stays. */
export interface JobChange extends Partial<Pick<Job, 'progress' | 'files' | 'errors' | 'checkpoint'>> {
  /** Ends the job. */
  readonly end?: { readonly status: 'completed' } | { readonly status: 'failed', readonly failure: JobFailure }
}

/** Who works on jobs, and how many at a time. */
export interface Worker {
  readonly gateway: string
  readonly storeId: string
  /** Jobs of one organization that are worked on at a time, over all gateways. */
  readonly perTenant: number
  /** For how long a job is this worker's, unless it is saved before; the same for all workers of a store, since a lease that ends later was given before the clock was set back. */
  readonly leaseMs: number
}

/** A job that one worker has until its lease runs out. A later lease of the same job has a higher number. */
export interface Lease { readonly jobId: string, readonly number: number }

/** A job with the lease by which a worker has it. */
export interface Claimed {
  readonly job: Job
  readonly lease: Lease
  /** How often it was left in trouble, or its worker died, since it last came on. */
  readonly failures: number
}

/** Part of the jobs of a scope, and how many there are in all. */
export interface JobPage {
  readonly jobs: readonly Job[]
  readonly total: number
  /** Those that wait or run. A control plane that is older than its gateways does not tell. */
  readonly unfinished?: number
}

/** What became of a change: the work goes on, the client does not want it any more, or somebody else has it. */
export const savings = ['going on', 'cancelled', 'lost'] as const
export type Saved = typeof savings[number]

/** The most that a {@link Job.checkpoint} may have, in characters of JSON. */
export const longestCheckpoint = 65_536

/** The jobs of all gateways, kept by the control plane. Every question of a client names its scope; what is another's is missing, and so is what has expired. */
export interface Jobs {
  /** Sent twice, with the same id, it makes one job. @throws {Failure} RATE_LIMITED when too many jobs of its organization have not ended */
  create: (draft: JobDraft) => Promise<Job>
  find: (id: string, scope: JobScope) => Promise<Job | undefined>
  /** Newest first. `before` is the last job of the page before. */
  list: (scope: JobScope, page: { readonly count: number, readonly before?: Pick<Job, 'id' | 'createdAt'> }) => Promise<JobPage>
  /** Ends a job that has not ended; another one stays as it is. */
  cancel: (id: string, scope: JobScope) => Promise<Job | undefined>
  /** Ends a job that has not ended, and lets its time come now: it is missing from then on. */
  discard: (id: string, scope: JobScope) => Promise<void>
  /** The oldest job that nobody works on, of an organization that has room for it. */
  claim: (worker: Worker) => Promise<Claimed | undefined>
  /** Notes what a worker did, and keeps the job for it for another while. */
  save: (lease: Lease, change: JobChange, leaseMs: number) => Promise<Saved>
  /** Lets go of a job: another one may take it at once, or, after trouble, in so many milliseconds. */
  release: (lease: Lease, trouble?: { readonly afterMs: number }) => Promise<void>
  /** Ids of jobs of a store whose time has come; they are forgotten with {@link Jobs.forget} once their files are deleted. */
  expired: (storeId: string) => Promise<readonly string[]>
  /** Those of the ids that are jobs: files of any other one belong to nobody. */
  existing: (ids: readonly string[]) => Promise<readonly string[]>
  forget: (ids: readonly string[]) => Promise<void>
  /** The secret by which an organization's imported records get their ids: 32 bytes in base64, made when first asked for and never changed. */
  identityKey: (scope: JobScope) => Promise<string>
}
