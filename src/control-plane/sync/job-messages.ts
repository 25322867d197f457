import { Type, type TSchema } from 'typebox'
import {
  exportFormats,
  exportLevels,
  jobStatuses,
  saveResults,
  type ClaimedJob,
  type ExportRequest,
  type ImportRequest,
  type Job,
  type JobChange,
  type JobDraft,
  type JobFile,
  type JobOwner,
  type JobPage,
  type Jobs,
  type JobScope,
  type Lease,
  type LineError,
  type Progress,
  type Worker
} from '../../jobs/model/job.js'
import { modes } from '../../config/mode.js'
import { keyScopes, lazyCheck, strictObject, type WireMessage } from './messages.js'

const id = Type.String({ pattern: '^[\\w-]{1,64}$' })
const time = Type.String({ format: 'iso-time' })
const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const word = Type.String({ minLength: 1, maxLength: 200 })
const text = Type.String({ maxLength: 2_000 })
const secret = Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$' })
const mode = Type.Enum(modes)
const ids = Type.Array(id, { maxItems: 10_000 })
const milliseconds = Type.Integer({ minimum: 0, maximum: 86_400_000 })
const several = (item: TSchema, maxItems: number) => Type.Array(item, { maxItems })

const scope = Type.Object({ tenantId: id, mode } satisfies WireMessage<JobScope>, strictObject)

const owner = Type.Object({
  tenantId: id,
  mode,
  keyId: id,
  keyName: Type.String({ maxLength: 200 }),
  plan: word,
  overage: Type.Boolean(),
  datastore: Type.Optional(Type.String({ pattern: '^[\\w.-]{1,64}$' })),
  scopes: Type.Optional(keyScopes)
} satisfies WireMessage<JobOwner>, strictObject)

/** A search parameter. Declared without a tuple type, for which the validator would log warnings. */
const pair = Type.Unsafe<readonly [string, string]>({ type: 'array', items: text, minItems: 2, maxItems: 2 })

const exportRequest = Type.Object({
  kind: Type.Literal('export'),
  types: several(word, 500),
  since: Type.Optional(word),
  until: Type.Optional(word),
  format: Type.Enum(exportFormats),
  filters: Type.Optional(Type.Record(Type.String(), several(several(pair, 100), 100))),
  elements: Type.Optional(several(word, 1_000)),
  level: Type.Enum(exportLevels),
  groupId: Type.Optional(id),
  patients: Type.Optional(several(id, 1_000)),
  leftOutTypes: Type.Optional(several(word, 500)),
  url: Type.String({ maxLength: 16_384 }),
  sealed: Type.Optional(Type.Object({ bytes: count, mark: word }, strictObject))
} satisfies WireMessage<ExportRequest>, strictObject)

const importRequest = Type.Object({
  kind: Type.Literal('import'),
  type: Type.Optional(word),
  dryRun: Type.Boolean(),
  url: text
} satisfies WireMessage<ImportRequest>, strictObject)

const request = Type.Union([exportRequest, importRequest])
const progress = Type.Object(
  { total: Type.Optional(count), processed: count, failed: count } satisfies WireMessage<Progress>,
  strictObject
)
const files = several(
  Type.Object(
    { name: word, resourceType: word, count, bytes: count, mark: Type.Optional(word) } satisfies WireMessage<JobFile>,
    strictObject
  ),
  1_000
)
const errors = several(
  Type.Object({ line: count, code: word, message: text } satisfies WireMessage<LineError>, strictObject),
  100
)
const failure = Type.Object({ code: word, message: text }, strictObject)

const job = Type.Object({
  id,
  owner,
  status: Type.Enum(jobStatuses),
  request,
  storeId: id,
  fileKey: secret,
  progress,
  files,
  errors,
  failure: Type.Optional(failure),
  checkpoint: Type.Optional(Type.Unknown()),
  createdAt: time,
  startedAt: Type.Optional(time),
  completedAt: Type.Optional(time),
  expiresAt: time
} satisfies WireMessage<Job>, strictObject)

const draft = Type.Object(
  {
    id,
    owner,
    request,
    storeId: id,
    fileKey: secret,
    progress: Type.Optional(progress),
    checkpoint: Type.Optional(Type.Unknown())
  } satisfies WireMessage<JobDraft>,
  strictObject
)
const worker = Type.Object(
  {
    gateway: word,
    storeId: id,
    perTenant: Type.Integer({ minimum: 1 }),
    leaseMs: milliseconds
  } satisfies WireMessage<Worker>,
  strictObject
)
const lease = Type.Object({ jobId: id, number: count } satisfies WireMessage<Lease>, strictObject)
const claimed = Type.Object({ job, lease, failures: count } satisfies WireMessage<ClaimedJob>, strictObject)
const page = Type.Object(
  { jobs: several(job, 101), total: count, unfinished: Type.Optional(count) } satisfies WireMessage<JobPage>,
  strictObject
)

const change = Type.Object({
  progress: Type.Optional(progress),
  files: Type.Optional(files),
  errors: Type.Optional(errors),
  checkpoint: Type.Optional(Type.Unknown()),
  end: Type.Optional(Type.Union([
    Type.Object({ status: Type.Literal('completed') }, strictObject),
    Type.Object({ status: Type.Literal('failed'), failure }, strictObject)
  ]))
} satisfies WireMessage<JobChange>, strictObject)

const part = Type.Object(
  {
    count: Type.Integer({ minimum: 1, maximum: 101 }),
    before: Type.Optional(Type.Object({ id, createdAt: time }, strictObject))
  },
  strictObject
)

/** The arguments of a call, in order, and its response. */
interface Call {
  readonly request: TSchema
  readonly responseSchema: TSchema
}

const none = Type.Object({}, strictObject)

/** The message with the arguments of a call. */
const receivedSchema = (things: readonly TSchema[]): TSchema =>
  Type.Unsafe({
    type: 'array',
    items: [...things],
    additionalItems: false,
    minItems: things.length,
    maxItems: things.length
  })

const responseSchema = (schema: TSchema): TSchema => Type.Object({ response: schema }, strictObject)
const optionalResponseSchema = (schema: TSchema): TSchema =>
  Type.Object({ response: Type.Optional(schema) }, strictObject)

/** The reason for no job: the organization has too many unfinished ones. */
export const tooMany = 'too many unfinished jobs'

/**
 * The query of gateways that understand a reason. Older gateways don't send it and get neither job nor reason; older
 * control planes ignore it and send neither.
 */
export const withReasons = 'reasons=true'

/** Every call that gateways make to {@link Jobs}, by name. */
export const jobCalls: Readonly<Record<keyof Jobs, Call>> = {
  create: {
    request: receivedSchema([draft]),
    responseSchema: Type.Union([
      optionalResponseSchema(job),
      Type.Object({ refused: Type.Literal(tooMany) }, strictObject)
    ])
  },
  find: { request: receivedSchema([id, scope]), responseSchema: optionalResponseSchema(job) },
  list: { request: receivedSchema([scope, part]), responseSchema: responseSchema(page) },
  cancel: { request: receivedSchema([id, scope]), responseSchema: optionalResponseSchema(job) },
  discard: { request: receivedSchema([id, scope]), responseSchema: none },
  claim: { request: receivedSchema([worker]), responseSchema: optionalResponseSchema(claimed) },
  save: {
    request: receivedSchema([lease, change, milliseconds]),
    responseSchema: responseSchema(Type.Enum(saveResults))
  },
  release: {
    request: Type.Union([
      receivedSchema([lease]),
      receivedSchema([lease, Type.Object({ afterMs: milliseconds }, strictObject)])
    ]),
    responseSchema: none
  },
  expired: { request: receivedSchema([id]), responseSchema: responseSchema(ids) },
  existing: { request: receivedSchema([ids]), responseSchema: responseSchema(ids) },
  abandoned: { request: receivedSchema([ids]), responseSchema: responseSchema(ids) },
  forget: { request: receivedSchema([ids]), responseSchema: none },
  identityKey: { request: receivedSchema([scope]), responseSchema: responseSchema(secret) }
}

/**
 * The largest request: a draft whose filters fill a URL, or a change with a checkpoint, a hundred errors and all files.
 */
export const maxJobRequestBytes = 1_048_576

/** The check of the response to each call. */
export const isJobResponse = Object.fromEntries(
  Object.entries(jobCalls).map(([name, { responseSchema: responses }]) => [name, lazyCheck(responses)])
) as Readonly<Record<keyof Jobs, ReturnType<typeof lazyCheck<TSchema>>>>

/** A checked response of the control plane. */
export interface JobResponse { readonly response?: unknown }
