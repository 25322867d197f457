import { Type, type Static } from 'typebox'
import { modes } from '../config/mode.js'
import type { DeepReadonly } from '../config/schema.js'
import { idPattern, typePattern } from '../fhir/names.js'
import { batchHead, type NumberedBatch, type SendBatch } from '../control-plane/outbox/batch.js'
import { idSchema } from '../keys/random-text.js'

/** The kinds of changes of a record. */
export const changes = ['created', 'updated', 'deleted'] as const
export type ChangeKind = typeof changes[number]

/** The remedy where a gateway writes no events. */
export const howToSwitchOn = 'The operator can set events.enabled.'

/** The maximum number of events in a batch, which is then about 700 kB as JSON. */
export const eventsPerBatch = 2_000

const type = `(fhir\\.${typePattern}|[a-z][a-z0-9-]{0,63})`

/** A type of events, as an expression: `patients.created`, `patients.*` for all of a resource, `*` for all. */
export const typeFilterPattern = `^(\\*|${type}\\.(\\*|${changes.join('|')}))$`

const time = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' })

const version = Type.String({ pattern: `^${idPattern}$` })

const eventMembers = {
  /** Unguessable, and the same in each repetition: a receiver that knows the id ignores the event. */
  id: Type.String({ pattern: '^evt_[a-z0-9]{26}$' }),
  /** The organization. */
  tenantId: idSchema,
  mode: Type.Enum(modes),
  /** `patients.created`, or `fhir.Basic.created` for a FHIR type without a simple resource. */
  type: Type.String({ pattern: `^${type}\\.(${changes.join('|')})$` }),
  /** When the datastore responded, or when that was found out after a crash: ISO 8601 in UTC with milliseconds. */
  createdAt: time,
  resourceType: Type.String({ pattern: `^${typePattern}$` }),
  resourceId: Type.String({ pattern: `^${idPattern}$` }),
  /** Absent where the datastore reported no version, as for most deletions. */
  versionId: Type.Optional(version),
  /** The request that made the change, as in its response and in the log. */
  requestId: Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$' })
}

const strict = { additionalProperties: false }
const event = Type.Object(eventMembers, strict)

/** A change of a record that was confirmed to a client. It has ids only, nothing clinical. */
export type ChangeEvent = Readonly<Static<typeof event>>

/** The schema of an {@link EventBatch} from another process. Unknown members are refused. */
export const eventBatchSchema = Type.Object({
  ...batchHead,
  lines: Type.Array(event, { minItems: 1, maxItems: eventsPerBatch })
}, strict)

/** The events of a gateway since the previous batch, in the order in which they were written. */
export type EventBatch = NumberedBatch<ChangeEvent>

/** Sends a batch of events to the control plane. */
export type SendEvents = SendBatch<ChangeEvent>

const { tenantId, versionId: _, ...commonMembers } = eventMembers

/** The schema of a {@link StoredEvent}. */
export const storedEventSchema = Type.Object({
  ...commonMembers,
  organizationId: tenantId,
  versionId: Type.Union([version, Type.Null()]),
  sequence: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
}, strict)

/**
 * A change of a record that was confirmed to a client: created, updated or deleted, by whatever request. It has ids
 * only, nothing clinical. `id` is unique and stays the same in each repetition; `sequence` orders all events of the
 * control plane, with gaps, and never changes. `versionId` is null where the datastore reported none.
 */
export type StoredEvent = Readonly<Static<typeof storedEventSchema>>

/** The maximum number of events in a list. */
const maxListedEvents = 1_000

/** The schema of an {@link EventQuery}. */
export const eventQuerySchema = Type.Object({
  organizationId: tenantId,
  mode: Type.Enum(modes),
  /** Only events with a higher sequence number. */
  after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  types: Type.Optional(Type.Array(Type.String({ pattern: typeFilterPattern }), { maxItems: 1_000 })),
  /** Only events since this time, inclusive. */
  since: Type.Optional(time),
  limit: Type.Integer({ minimum: 1, maximum: maxListedEvents })
}, strict)

/** Which events of an organization's mode to list. */
export type EventQuery = Readonly<Static<typeof eventQuerySchema>>

/** The events of all gateways, in the control plane. */
export interface EventFeed {
  /** Oldest first. */
  list (query: EventQuery): Promise<readonly StoredEvent[]>
  /** The sequence number of the latest event of all organizations; 0 if there never was one. */
  getLatestSequence (): Promise<number>
}

/** The schema of a {@link PresentedEvent}. */
export const presentedEventSchema = Type.Object({
  id: Type.String({ description: 'The same in each repetition: ignore an event whose id you know.' }),
  type: Type.String({ examples: ['patients.created', 'observations.updated', 'fhir.Basic.deleted'] }),
  createdAt: Type.String({ format: 'date-time' }),
  data: Type.Object({
    resourceType: Type.String({ description: 'The FHIR type.' }),
    id: Type.String({ description: 'The id of the record.' }),
    versionId: Type.Optional(Type.String({ description: 'Absent where the datastore reports none.' }))
  }),
  requestId: Type.String({ description: 'The request that made the change.' })
})

/** An event as clients see it in `GET /v1/events` and receivers of webhooks in the body. */
export type PresentedEvent = DeepReadonly<Static<typeof presentedEventSchema>>

/** An event as clients and receivers see it: without its organization and its position. */
export function presentEvent (event: StoredEvent): PresentedEvent {
  const { id, type, createdAt, resourceType, resourceId, versionId, requestId } = event
  const data = { resourceType, id: resourceId, ...versionId !== null && { versionId } }
  return { id, type, createdAt, data, requestId }
}
