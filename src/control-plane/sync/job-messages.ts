import { Type, type TSchema } from 'typebox'
import {
  claimedJobSchema,
  jobChangeSchema,
  jobDraftSchema,
  jobPageSchema,
  jobSchema,
  jobScopeSchema,
  leaseSchema,
  millisecondsSchema as milliseconds,
  secretSchema,
  timeSchema,
  workerSchema
} from '../../jobs/model/job.js'
import { saveResults, type Jobs } from '../../jobs/model/jobs.js'
import { idSchema as id } from '../../keys/random-text.js'
import { toArgumentsSchema, createLazyCheck, strictObject } from './messages.js'

const ids = Type.Array(id, { maxItems: 10_000 })

const pageSchema = Type.Object(
  {
    count: Type.Integer({ minimum: 1, maximum: 101 }),
    before: Type.Optional(Type.Object({ id, createdAt: timeSchema }, strictObject))
  },
  strictObject
)

/** The arguments of a call, in order, and its response. */
interface Call {
  readonly request: TSchema
  readonly responseSchema: TSchema
}

const emptySchema = Type.Object({}, strictObject)

const toResponseSchema = (schema: TSchema): TSchema => Type.Object({ response: schema }, strictObject)
const toOptionalResponseSchema = (schema: TSchema): TSchema =>
  Type.Object({ response: Type.Optional(schema) }, strictObject)

/** The reason for no job: the organization has too many unfinished ones. */
export const tooManyJobsReason = 'too many unfinished jobs'

/**
 * The query of gateways that understand a reason. Older gateways don't send it and get neither job nor reason; older
 * control planes ignore it and send neither.
 */
export const reasonsQuery = 'reasons=true'

/** Every call that gateways make to {@link Jobs}, by name. */
export const jobCalls: Readonly<Record<keyof Jobs, Call>> = {
  create: {
    request: toArgumentsSchema(jobDraftSchema),
    responseSchema: Type.Union([
      toOptionalResponseSchema(jobSchema),
      Type.Object({ refused: Type.Literal(tooManyJobsReason) }, strictObject)
    ])
  },
  find: { request: toArgumentsSchema(id, jobScopeSchema), responseSchema: toOptionalResponseSchema(jobSchema) },
  list: { request: toArgumentsSchema(jobScopeSchema, pageSchema), responseSchema: toResponseSchema(jobPageSchema) },
  cancel: { request: toArgumentsSchema(id, jobScopeSchema), responseSchema: toOptionalResponseSchema(jobSchema) },
  discard: { request: toArgumentsSchema(id, jobScopeSchema), responseSchema: emptySchema },
  claim: { request: toArgumentsSchema(workerSchema), responseSchema: toOptionalResponseSchema(claimedJobSchema) },
  save: {
    request: toArgumentsSchema(leaseSchema, jobChangeSchema, milliseconds),
    responseSchema: toResponseSchema(Type.Enum(saveResults))
  },
  release: {
    request: Type.Union([
      toArgumentsSchema(leaseSchema),
      toArgumentsSchema(leaseSchema, Type.Object({ afterMs: milliseconds }, strictObject))
    ]),
    responseSchema: emptySchema
  },
  expired: { request: toArgumentsSchema(id), responseSchema: toResponseSchema(ids) },
  existing: { request: toArgumentsSchema(ids), responseSchema: toResponseSchema(ids) },
  abandoned: { request: toArgumentsSchema(ids), responseSchema: toResponseSchema(ids) },
  forget: { request: toArgumentsSchema(ids), responseSchema: emptySchema },
  identityKey: { request: toArgumentsSchema(jobScopeSchema), responseSchema: toResponseSchema(secretSchema) }
}

/**
 * The largest request: a draft whose filters fill a URL, or a change with a checkpoint, a hundred errors and all files.
 */
export const maxJobRequestBytes = 1_048_576

/** The check of the response to each call. */
export const isJobResponse = Object.fromEntries(
  Object.entries(jobCalls).map(([name, { responseSchema: responses }]) => [name, createLazyCheck(responses)])
) as Readonly<Record<keyof Jobs, ReturnType<typeof createLazyCheck<TSchema>>>>

/** A checked response of the control plane. */
export interface JobResponse { readonly response?: unknown }
