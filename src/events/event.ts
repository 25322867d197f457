import { Type, type Static } from 'typebox'
import { modes } from '../config/mode.js'
import { idPattern, typePattern } from '../fhir/names.js'
import { batchHead, idSchema, type NumberedBatch } from '../outbox/batch.js'

/** What happened to a record. */
export const changes = ['created', 'updated', 'deleted'] as const

/** The maximum number of events in a batch, which is then about 700 kB as JSON. */
export const eventsPerBatch = 2_000

const event = Type.Object({
  /** Unguessable, and the same in each repetition: a receiver that knows the id ignores the event. */
  id: Type.String({ pattern: '^evt_[a-z0-9]{26}$' }),
  /** The organization. */
  tenantId: idSchema,
  mode: Type.Enum(modes),
  /** `patients.created`, or `fhir.Basic.created` for a FHIR type without a simple resource. */
  type: Type.String({ pattern: `^(fhir\\.${typePattern}|[a-z][a-z0-9-]{0,63})\\.(${changes.join('|')})$` }),
  /** When the datastore responded, or when that was found out after a crash: ISO 8601 in UTC with milliseconds. */
  createdAt: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' }),
  resourceType: Type.String({ pattern: `^${typePattern}$` }),
  resourceId: Type.String({ pattern: `^${idPattern}$` }),
  /** Absent where the datastore reported no version, as for most deletions. */
  versionId: Type.Optional(Type.String({ pattern: `^${idPattern}$` })),
  /** The request that made the change, as in its response and in the log. */
  requestId: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$' })
}, { additionalProperties: false })

/** A change of a record that a client was told of. It has ids only: nothing clinical. */
export type ChangeEvent = Readonly<Static<typeof event>>

/** The schema of an {@link EventBatch} from another process. Unknown members are refused. */
export const eventBatchSchema = Type.Object({
  ...batchHead,
  lines: Type.Array(event, { minItems: 1, maxItems: eventsPerBatch })
}, { additionalProperties: false })

/** The events of a gateway since the previous batch, in the order in which they were written. */
export type EventBatch = NumberedBatch<ChangeEvent>
