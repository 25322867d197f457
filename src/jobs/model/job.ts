import { Type, type Static } from 'typebox'
import { modes } from '../../config/mode.js'
import type { DeepReadonly } from '../../config/schema.js'
import { scopesSchema } from '../../keys/change-feed.js'
import { idSchema as id } from '../../keys/random-text.js'
import { simplifyScopes } from '../../keys/scopes.js'

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

// The schemas of what gateways and the control plane send each other. Each is the one declaration of its type. A member
// that is not declared is refused: it may mean something that must not be ignored.
const strict = { additionalProperties: false }

/** A time in ISO 8601. */
export const timeSchema = Type.String({ format: 'date-time' })
const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const word = Type.String({ minLength: 1, maxLength: 200 })
const text = Type.String({ maxLength: 2_000 })
const words = (maxItems: number) => Type.Array(word, { maxItems })

/** 32 bytes in base64. */
export const secretSchema = Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$' })
/** A duration in milliseconds. */
export const millisecondsSchema = Type.Integer({ minimum: 0, maximum: 86_400_000 })

const scope = { tenantId: id, mode: Type.Enum(modes) }

/** The jobs of one organization in one mode. */
export const jobScopeSchema = Type.Object(scope, strict)
export type JobScope = Readonly<Static<typeof jobScopeSchema>>

const owner = Type.Object({
  ...scope,
  keyId: id,
  keyName: Type.String({ maxLength: 200 }),
  plan: word,
  overage: Type.Boolean(),
  datastore: Type.Optional(Type.String({ pattern: '^[\\w.-]{1,64}$' })),
  /** Of a key with limits: the job does nothing that the key may not do. Absent for one without. */
  scopes: Type.Optional(scopesSchema)
}, strict)

/**
 * The caller who started a job, at the time of that request. It alone determines the datastore and the tenant tag. The
 * monthly quota is checked for each record when it is processed.
 */
export type JobOwner = DeepReadonly<Static<typeof owner>>

/** The owner of a job that a caller starts. */
export function toJobOwner (caller: JobOwner): JobOwner {
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

/** The form of exported records: FHIR or the simple form. */
export const exportFormats = ['fhir', 'simple'] as const
export type ExportFormat = typeof exportFormats[number]

/** The scope of an export: all records, those in the compartments of all patients, or those of a group's members. */
const exportLevels = ['system', 'patient', 'group'] as const
export type ExportLevel = typeof exportLevels[number]

/** A search parameter. Declared without a tuple type, for which the validator would log warnings. */
const pair = Type.Unsafe<readonly [name: string, value: string]>({
  type: 'array', items: text, minItems: 2, maxItems: 2
})

const exportRequest = Type.Object({
  kind: Type.Literal('export'),
  /** R4 types without duplicates, in the order of the manifest. */
  types: words(500),
  /** Only records that changed since this time, ISO 8601. */
  since: Type.Optional(word),
  /** Only records whose last change was before this time, ISO 8601. */
  until: Type.Optional(word),
  format: Type.Enum(exportFormats),
  /**
   * The validated searches of `_typeFilter` by type. Several for one type are alternatives. They are stored `sealed`.
   */
  filters: Type.Optional(
    Type.Record(Type.String(), Type.Array(Type.Array(pair, { maxItems: 100 }), { maxItems: 100 }))
  ),
  /** The elements of `_elements`, in addition to mandatory ones: `id` is for every type, `Patient.name` for one. */
  elements: Type.Optional(words(1_000)),
  level: Type.Enum(exportLevels),
  groupId: Type.Optional(id),
  /** The ids of the patients whose records are wanted; absent for all. They are stored `sealed`. */
  patients: Type.Optional(Type.Array(id, { maxItems: 1_000 })),
  /** Types that the client did not name and may not read. */
  leftOutTypes: Type.Optional(words(500)),
  /** The URL of the request, for the manifest. */
  url: Type.String({ maxLength: 16_384 }),
  /**
   * The size and checksum of the job's file that holds the filters, the patients and the URL's query. If present, they
   * are stored nowhere else.
   */
  sealed: Type.Optional(Type.Object({ bytes: count, mark: word }, strict))
}, strict)

/** The options of an export. */
export type ExportRequest = DeepReadonly<Static<typeof exportRequest>>

/** A request without the types that its sender may not read, which it names. */
export function limitTypes<T extends Pick<ExportRequest, 'types'>> (
  request: T, mayRead: (type: string) => boolean
): T & Pick<ExportRequest, 'leftOutTypes'> {
  const leftOutTypes = request.types.filter(type => !mayRead(type))
  return { ...request, types: request.types.filter(mayRead), ...leftOutTypes.length > 0 && { leftOutTypes } }
}

const importRequest = Type.Object({
  kind: Type.Literal('import'),
  /** The R4 type of lines that do not state their own. */
  type: Type.Optional(word),
  /** Checks everything and writes nothing. */
  dryRun: Type.Boolean(),
  /** The gateway's base URL as the caller reached it, for links in the job. */
  url: text
}, strict)

/** How to import the input, which is a file of the job. */
export type ImportRequest = Readonly<Static<typeof importRequest>>

const progress = Type.Object({
  /** Absent until it is known. */
  total: Type.Optional(count),
  processed: count,
  failed: count
}, strict)

/** A job's progress, in records. */
export type Progress = Readonly<Static<typeof progress>>

const file = Type.Object({
  /** A name that is safe in a path: `Patient.ndjson`. */
  name: word,
  resourceType: word,
  /** The number of lines. */
  count,
  bytes: count,
  /**
   * Authenticates the content, so that the file can't be replaced by an earlier version. Without it, the file is not
   * served.
   */
  mark: Type.Optional(word)
}, strict)

/** A file that clients can download. */
export type JobFile = Readonly<Static<typeof file>>

const lineError = Type.Object({ line: count, code: word, message: text }, strict)

/** The error of one line of an import, with a code of the error catalog. Lines count from 1. */
export type LineError = Readonly<Static<typeof lineError>>

/** Why a job failed, as shown to the client. */
const failure = Type.Object({ code: word, message: text }, strict)

/** The parts of a job that its worker changes. */
const state = {
  progress,
  files: Type.Array(file, { maxItems: 1_000 }),
  /** The first hundred errors. */
  errors: Type.Array(lineError, { maxItems: 100 }),
  /** The state from which a worker can resume the job. Only workers read it. */
  checkpoint: Type.Optional(Type.Unknown())
}

/** The parts of a job that never change. */
const fixed = {
  /** Matches {@link jobIdForm}. */
  id,
  owner,
  /**
   * It contains no content of a record, no search value and no secret: those, and URLs to fetch, are in a file of the
   * job.
   */
  request: Type.Union([exportRequest, importRequest]),
  /** The file store that has the job's files. Only gateways that can reach it can work on the job. */
  storeId: id,
  /**
   * The encryption key of the job's files: 32 bytes in base64. It is deleted with the job, which makes the files
   * unreadable.
   */
  fileKey: secretSchema
}

/** The schema of a {@link Job}. */
export const jobSchema = Type.Object({
  ...fixed,
  ...state,
  status: Type.Enum(jobStatuses),
  failure: Type.Optional(failure),
  createdAt: timeSchema,
  startedAt: Type.Optional(timeSchema),
  completedAt: Type.Optional(timeSchema),
  /** When the job and its files are deleted. */
  expiresAt: timeSchema
}, strict)

/** A bulk job as stored. Times are ISO 8601. */
export type Job = DeepReadonly<Static<typeof jobSchema>>
export type JobRequest = Job['request']

/** A new job. Its files must be in place before it is created. */
export const jobDraftSchema = Type.Object(
  { ...fixed, progress: Type.Optional(progress), checkpoint: state.checkpoint },
  strict
)
export type JobDraft = DeepReadonly<Static<typeof jobDraftSchema>>

/** A change to a job in progress. Absent members stay unchanged. */
export const jobChangeSchema = Type.Object({
  progress: Type.Optional(progress),
  files: Type.Optional(state.files),
  errors: Type.Optional(state.errors),
  checkpoint: state.checkpoint,
  /** Ends the job. */
  end: Type.Optional(Type.Union([
    Type.Object({ status: Type.Literal('completed') }, strict),
    Type.Object({ status: Type.Literal('failed'), failure }, strict)
  ]))
}, strict)
export type JobChange = DeepReadonly<Static<typeof jobChangeSchema>>

/** A gateway that works on jobs. */
export const workerSchema = Type.Object({
  gateway: word,
  storeId: id,
  /** The maximum number of concurrent jobs of one organization, across all gateways. */
  perTenant: Type.Integer({ minimum: 1 }),
  /**
   * How long a lease lasts unless it is renewed by a save. It must be the same for all workers of a store: a lease that
   * ends later is taken as a sign that the clock was set back.
   */
  leaseMs: millisecondsSchema
}, strict)
export type Worker = Readonly<Static<typeof workerSchema>>

/** A worker's right to a job until it expires. Each new lease of a job has a higher number. */
export const leaseSchema = Type.Object({ jobId: id, number: count }, strict)
export type Lease = Readonly<Static<typeof leaseSchema>>

/** A job with its lease, and how often it failed, or its worker died, since it last made progress. */
export const claimedJobSchema = Type.Object({ job: jobSchema, lease: leaseSchema, failures: count }, strict)
export type ClaimedJob = DeepReadonly<Static<typeof claimedJobSchema>>

/**
 * A page of the jobs of a scope, with totals. `unfinished`, the number of jobs that wait or run, is absent if the
 * control plane is older than the gateway.
 */
export const jobPageSchema = Type.Object(
  { jobs: Type.Array(jobSchema, { maxItems: 101 }), total: count, unfinished: Type.Optional(count) },
  strict
)
export type JobPage = DeepReadonly<Static<typeof jobPageSchema>>
