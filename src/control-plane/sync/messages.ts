import type { ValidateFunction } from 'ajv'
import { Type, type Static, type TSchema } from 'typebox'
import { createAjv } from '../../envelope/checked-input.js'
import { changeBatchSchema, positionSchema, type Batch } from '../../keys/change-feed.js'
import { usageAckSchema, type UsageAck } from '../../limits/usage.js'
import { storedEventSchema, type StoredEvent } from '../../events/event.js'
import { ControlPlaneError } from './link.js'

/** Messages must not have unknown members: they may mean something that must not be ignored. */
export const strictObject = { additionalProperties: false }

const seq = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/**
 * The query of a request for the feed: the position after which to continue. A new gateway has no feed id and starts at
 * 0.
 */
export const feedQuery = Type.Object({ feedId: positionSchema.properties.feedId, seq: Type.String({ pattern: '^\\d{1,15}$' }) }, strictObject)

/** The message with the arguments of a call, in their order. */
export const toArgumentsSchema = (...things: readonly TSchema[]): TSchema =>
  Type.Unsafe({
    type: 'array',
    items: [...things],
    additionalItems: false,
    minItems: things.length,
    maxItems: things.length
  })

const ajv = createAjv({})

/** Compiles the check of a schema. It does not convert, add or remove anything. */
function compileCheck<T extends TSchema> (schema: T): ValidateFunction<Static<T>> {
  return ajv.compile<Static<T>>(schema)
}

/**
 * The check of a schema, compiled on first use: most processes never get most of these messages, and compiling takes
 * some 10 ms. `errors` says what was wrong with the last value, which is what Fastify reads.
 */
export function createLazyCheck<T extends TSchema> (schema: T): LazyCheck<T> {
  let check: ValidateFunction<Static<T>> | undefined
  const lazy: LazyCheck<T> = Object.assign((value: unknown): value is Static<T> => {
    check ??= compileCheck(schema)
    const isValid = check(value)
    lazy.errors = check.errors
    return isValid
  }, { errors: undefined })
  return lazy
}

interface LazyCheck<T extends TSchema> {
  (value: unknown): value is Static<T>
  errors: ValidateFunction['errors']
}

const isBatch = createLazyCheck(changeBatchSchema)
const isReceipt = createLazyCheck(usageAckSchema)

/** The message for a response that does not match its schema. */
export const unreadableResponse =
  'the control plane sent something that this gateway does not understand; run the same version of both, and upgrade gateways first'

/**
 * Parses a message of the change feed.
 * @throws {ControlPlaneError} if it is not a complete and consistent batch
 */
export function readBatch (message: string): Batch {
  const read = tryParseJson(message)
  if (isBatch(read) && isInOrder(read)) return read
  throw new ControlPlaneError(unreadableResponse)
}

/**
 * Parses the response to a usage batch.
 * @throws {ControlPlaneError} if it is not a receipt
 */
export function readReceipt (text: string): UsageAck {
  const read = tryParseJson(text)
  if (isReceipt(read)) return read
  throw new ControlPlaneError(unreadableResponse)
}

const isEventList = createLazyCheck(Type.Array(storedEventSchema, { maxItems: 1_000 }))
const isLatest = createLazyCheck(Type.Object({ sequence: seq }, strictObject))

/** Parses a list of events. @throws {ControlPlaneError} if it is none */
export function readEvents (text: string): readonly StoredEvent[] {
  const read = tryParseJson(text)
  if (isEventList(read)) return read
  throw new ControlPlaneError(unreadableResponse)
}

/** Parses the number of the latest event. @throws {ControlPlaneError} if it is none */
export function readLatest (text: string): number {
  const read = tryParseJson(text)
  if (isLatest(read)) return read.sequence
  throw new ControlPlaneError(unreadableResponse)
}

function tryParseJson (message: string): unknown {
  try {
    return JSON.parse(message)
  } catch {
    return undefined
  }
}

function isInOrder ({ isSnapshot, after, through, changes }: Batch): boolean {
  const numbers = [after, ...changes.map(change => change.seq)]
  return (
    (!isSnapshot || after === 0) &&
    numbers.every((number, i) => i === 0 || number > numbers[i - 1]!) &&
    through >= numbers.at(-1)!
  )
}
