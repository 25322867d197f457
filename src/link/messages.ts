import { Ajv, type ValidateFunction } from 'ajv'
import { Type, type Static, type TSchema } from 'typebox'
import type { GatewayReport } from '../control/gateway-store.js'
import { healths } from '../health.js'
import { isMoment } from '../iso-time.js'
import { scopes } from '../keys/caller.js'
import type { Batch, KeyState, OrganizationState } from '../keys/change-feed.js'
import { linesPerBatch, type MonthTotal, type UsageReceipt } from '../limits/usage.js'
import { modes } from '../mode.js'
import { LinkFailed } from './failed.js'

/** What goes over the wire, told in full: a name that is not here may mean something that must not be passed over. */
export const closed = { additionalProperties: false }

/** Does not compile when a type comes to have what no schema tells of. */
export type Told<T> = Readonly<Record<keyof T, TSchema>>

const id = Type.String({ pattern: '^[\\w-]{1,64}$' })
const idOrNone = Type.String({ pattern: '^[\\w-]{0,64}$' })
const seq = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const time = Type.String({ format: 'iso-time' })

const organization = Type.Object({
  tenantId: id,
  plan: Type.String({ minLength: 1, maxLength: 200 }),
  overage: Type.Boolean(),
  datastore: Type.Optional(Type.String({ pattern: '^[\\w.-]{1,64}$' }))
} satisfies Told<OrganizationState>, closed)

const key = Type.Object({
  keyId: id,
  hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  tenantId: id,
  name: Type.String({ maxLength: 200 }),
  mode: Type.Enum(modes),
  scopes: Type.Array(Type.Enum(scopes), { minItems: 1, maxItems: 3 }),
  expiresAt: Type.Optional(time),
  revokedAt: Type.Optional(time)
} satisfies Told<KeyState>, closed)

const batch = Type.Object({
  feedId: id,
  startsOver: Type.Boolean(),
  after: seq,
  through: seq,
  isLatest: Type.Boolean(),
  changes: Type.Array(Type.Union([
    Type.Object({ seq, kind: Type.Literal('organization'), state: organization }, closed),
    Type.Object({ seq, kind: Type.Literal('key'), state: key }, closed)
  ]), { maxItems: 10_000 })
}, closed)

/** Where a gateway wants to go on, as the query of its request for the feed; a new one has no feed yet and stands at 0. */
export const feedQuery = Type.Object({ feedId: idOrNone, seq: Type.String({ pattern: '^\\d{1,15}$' }) }, closed)

/** The body of a report. */
export const reportBody = Type.Object({
  gatewayId: id,
  name: Type.String({ pattern: '^[\\w.-]{1,100}$' }),
  version: Type.String({ pattern: '^[\\w.+-]{1,100}$' }),
  startedAt: time,
  position: Type.Object({ feedId: idOrNone, seq }, closed),
  checks: Type.Record(Type.String({ pattern: '^[A-Za-z]{1,50}$' }), Type.Enum(healths), { ...closed, maxProperties: 50 })
} satisfies Told<GatewayReport>, closed)

/** What is answered to a batch of usage. */
const monthTotal = Type.Object({
  tenantId: id,
  mode: Type.Enum(modes),
  month: Type.String({ pattern: '^\\d{4}-\\d\\d$' }),
  counted: seq
} satisfies Told<MonthTotal>, closed)

const receipt = Type.Object({ number: seq, batchId: idOrNone, months: Type.Optional(Type.Array(monthTotal, { maxItems: linesPerBatch })) } satisfies Told<UsageReceipt>, closed)

const ajv = new Ajv({ code: { optimize: false } })
// A time that the engine could not read would be a key without an end.
ajv.addFormat('iso-time', isMoment)

/** Makes the check of a schema: nothing is converted, added or taken away. */
export function checkOf<T extends TSchema> (schema: T): ValidateFunction<Static<T>> {
  return ajv.compile<Static<T>>(schema)
}

/** The check of a schema, made when it is first used: most processes never get most of these messages, and each check takes a start some 10 ms. */
export function checkOnUse<T extends TSchema> (schema: T): (value: unknown) => value is Static<T> {
  let check: ValidateFunction<Static<T>> | undefined
  return (value): value is Static<T> => (check ??= checkOf(schema))(value)
}

const isBatch = checkOnUse(batch)
const isReceipt = checkOnUse(receipt)

/** What is said of an answer that is not what it should be. */
export const notUnderstood = 'the control plane sent something that this gateway does not understand; run the same version of both, and upgrade gateways first'

/**
 * The batch in a message from a control plane.
 * @throws {LinkFailed} for anything that is not one, whole and in itself consistent
 */
export function readBatch (message: string): Batch {
  const read = parsed(message)
  if (isBatch(read) && isInOrder(read)) return read
  throw new LinkFailed(notUnderstood)
}

/**
 * The receipt in the answer to a batch of usage.
 * @throws {LinkFailed} for anything that is not one
 */
export function readReceipt (answer: string): UsageReceipt {
  const read = parsed(answer)
  if (isReceipt(read)) return read
  throw new LinkFailed(notUnderstood)
}

function parsed (message: string): unknown {
  try {
    return JSON.parse(message)
  } catch {
    return undefined
  }
}

function isInOrder ({ startsOver, after, through, changes }: Static<typeof batch>): boolean {
  const numbers = [after, ...changes.map(change => change.seq)]
  return (!startsOver || after === 0) && numbers.every((number, i) => i === 0 || number > numbers[i - 1]!) && through >= numbers.at(-1)!
}
