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
import { argumentsOf, lazyCheck, strictObject } from './messages.js'

const ids = Type.Array(id, { maxItems: 10_000 })

const part = Type.Object(
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

const none = Type.Object({}, strictObject)

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
    request: argumentsOf(jobDraftSchema),
    responseSchema: Type.Union([
      optionalResponseSchema(jobSchema),
      Type.Object({ refused: Type.Literal(tooMany) }, strictObject)
    ])
  },
  find: { request: argumentsOf(id, jobScopeSchema), responseSchema: optionalResponseSchema(jobSchema) },
  list: { request: argumentsOf(jobScopeSchema, part), responseSchema: responseSchema(jobPageSchema) },
  cancel: { request: argumentsOf(id, jobScopeSchema), responseSchema: optionalResponseSchema(jobSchema) },
  discard: { request: argumentsOf(id, jobScopeSchema), responseSchema: none },
  claim: { request: argumentsOf(workerSchema), responseSchema: optionalResponseSchema(claimedJobSchema) },
  save: {
    request: argumentsOf(leaseSchema, jobChangeSchema, milliseconds),
    responseSchema: responseSchema(Type.Enum(saveResults))
  },
  release: {
    request: Type.Union([
      argumentsOf(leaseSchema),
      argumentsOf(leaseSchema, Type.Object({ afterMs: milliseconds }, strictObject))
    ]),
    responseSchema: none
  },
  expired: { request: argumentsOf(id), responseSchema: responseSchema(ids) },
  existing: { request: argumentsOf(ids), responseSchema: responseSchema(ids) },
  abandoned: { request: argumentsOf(ids), responseSchema: responseSchema(ids) },
  forget: { request: argumentsOf(ids), responseSchema: none },
  identityKey: { request: argumentsOf(jobScopeSchema), responseSchema: responseSchema(secretSchema) }
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
