import { Ajv, type ValidateFunction } from 'ajv'
import { Type, type Static, type TSchema } from 'typebox'
import type { GatewayReport } from '../store/gateway-store.js'
import { healthStates } from '../../envelope/health-states.js'
import { isDateTime } from '../../time/iso-time.js'
import { keySchema, organizationSchema, type Batch } from '../../keys/change-feed.js'
import { linesPerBatch, type MonthTotal, type UsageAck } from '../../limits/usage.js'
import { storedEventSchema, type StoredEvent } from '../../events/event.js'
import { modes } from '../../config/mode.js'
import { ControlPlaneError } from './failed.js'

/** Messages must not have unknown members: they may mean something that must not be ignored. */
export const strictObject = { additionalProperties: false }

/** Fails to compile if a type gets a member that the schema lacks. */
export type WireMessage<T> = Readonly<Record<keyof T, TSchema>>

const id = Type.String({ pattern: '^[\\w-]{1,64}$' })
const idOrNone = Type.String({ pattern: '^[\\w-]{0,64}$' })
const seq = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const time = Type.String({ format: 'iso-time' })

const batch = Type.Object({
  feedId: id,
  isSnapshot: Type.Boolean(),
  after: seq,
  through: seq,
  isLatest: Type.Boolean(),
  changes: Type.Array(Type.Union([
    Type.Object({ seq, kind: Type.Literal('organization'), state: organizationSchema }, strictObject),
    Type.Object({ seq, kind: Type.Literal('key'), state: keySchema }, strictObject)
  ]), { maxItems: 10_000 })
}, strictObject)

/**
 * The query of a request for the feed: the position after which to continue. A new gateway has no feed id and starts
 * at
 * 0.
 */
export const feedQuery = Type.Object({ feedId: idOrNone, seq: Type.String({ pattern: '^\\d{1,15}$' }) }, strictObject)

/** The body of a report. */
export const reportBody = Type.Object(
  {
    gatewayId: id,
    name: Type.String({ pattern: '^[\\w.-]{1,100}$' }),
    version: Type.String({ pattern: '^[\\w.+-]{1,100}$' }),
    startedAt: time,
    position: Type.Object({ feedId: idOrNone, seq }, strictObject),
    checks: Type.Record(Type.String({ pattern: '^[A-Za-z]{1,50}$' }), Type.Enum(healthStates), {
      ...strictObject,
      maxProperties: 50
    })
  } satisfies WireMessage<GatewayReport>,
  strictObject
)

/** A part of the receipt of a usage batch. */
const monthTotal = Type.Object({
  tenantId: id,
  mode: Type.Enum(modes),
  month: Type.String({ pattern: '^\\d{4}-\\d\\d$' }),
  counted: seq
} satisfies WireMessage<MonthTotal>, strictObject)

const receipt = Type.Object(
  {
    number: seq,
    batchId: idOrNone,
    months: Type.Optional(Type.Array(monthTotal, { maxItems: linesPerBatch }))
  } satisfies WireMessage<UsageAck>,
  strictObject
)

const ajv = new Ajv({ code: { optimize: false } })
// A key with an expiry that the engine can't parse would never expire.
ajv.addFormat('iso-time', isDateTime)

/** Compiles the check of a schema. It does not convert, add or remove anything. */
export function compileCheck<T extends TSchema> (schema: T): ValidateFunction<Static<T>> {
  return ajv.compile<Static<T>>(schema)
}

/**
 * The check of a schema, compiled on first use: most processes never get most of these messages, and compiling takes
 * some 10 ms.
 */
export function lazyCheck<T extends TSchema> (schema: T): (value: unknown) => value is Static<T> {
  let check: ValidateFunction<Static<T>> | undefined
  return (value): value is Static<T> => (check ??= compileCheck(schema))(value)
}

const isBatch = lazyCheck(batch)
const isReceipt = lazyCheck(receipt)

/** The message for a response that does not match its schema. */
export const unreadableResponse =
  'the control plane sent something that this gateway does not understand; run the same version of both, and upgrade gateways first'

/**
 * Parses a message of the change feed.
 * @throws {ControlPlaneError} if it is not a complete and consistent batch
 */
export function readBatch (message: string): Batch {
  const read = parsed(message)
  if (isBatch(read) && isInOrder(read)) return read
  throw new ControlPlaneError(unreadableResponse)
}

/**
 * Parses the response to a usage batch.
 * @throws {ControlPlaneError} if it is not a receipt
 */
export function readReceipt (text: string): UsageAck {
  const read = parsed(text)
  if (isReceipt(read)) return read
  throw new ControlPlaneError(unreadableResponse)
}

const isEventList = lazyCheck(Type.Array(storedEventSchema, { maxItems: 1_000 }))
const isLatest = lazyCheck(Type.Object({ sequence: seq }, strictObject))

/** Parses a list of events. @throws {ControlPlaneError} if it is none */
export function readEvents (text: string): readonly StoredEvent[] {
  const read = parsed(text)
  if (isEventList(read)) return read
  throw new ControlPlaneError(unreadableResponse)
}

/** Parses the number of the latest event. @throws {ControlPlaneError} if it is none */
export function readLatest (text: string): number {
  const read = parsed(text)
  if (isLatest(read)) return read.sequence
  throw new ControlPlaneError(unreadableResponse)
}

function parsed (message: string): unknown {
  try {
    return JSON.parse(message)
  } catch {
    return undefined
  }
}

function isInOrder ({ isSnapshot, after, through, changes }: Static<typeof batch>): boolean {
  const numbers = [after, ...changes.map(change => change.seq)]
  return (
    (!isSnapshot || after === 0) &&
    numbers.every((number, i) => i === 0 || number > numbers[i - 1]!) &&
    through >= numbers.at(-1)!
  )
}
