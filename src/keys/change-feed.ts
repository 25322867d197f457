import { Type, type Static } from 'typebox'
import { modes } from '../config/mode.js'
import type { DeepReadonly } from '../config/schema.js'
import type { Scope } from './caller.js'
import { idOrNoneSchema as idOrNone, idSchema as id } from './random-text.js'

/** Unknown members are refused: they may mean something that must not be ignored. */
const strict = { additionalProperties: false }
const time = Type.String({ format: 'date-time' })

/**
 * The scopes of a key, also those that only a newer control plane knows: they permit nothing at a gateway that does not
 * know them, and must not keep it from learning of other keys.
 */
export const scopesSchema = Type.Unsafe<Scope[]>(
  Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 1_000 })
)

const organizationSchema = Type.Object({
  tenantId: id,
  plan: Type.String({ minLength: 1, maxLength: 200 }),
  /**
   * Whether live requests past the monthly quota are served if the plan has overage: false once the organization has
   * switched it off.
   */
  overage: Type.Boolean(),
  /** The name of its own datastore for its live data, on the plan enterprise. */
  datastore: Type.Optional(Type.String({ pattern: '^[\\w.-]{1,64}$' }))
}, strict)

/** The state of an organization that a gateway needs. */
export type OrganizationState = Readonly<Static<typeof organizationSchema>>

const keySchema = Type.Object({
  keyId: id,
  hash: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  tenantId: id,
  name: Type.String({ maxLength: 200 }),
  mode: Type.Enum(modes),
  scopes: scopesSchema,
  expiresAt: Type.Optional(time),
  revokedAt: Type.Optional(time)
}, strict)

/** The state of a key that a gateway needs; times are ISO 8601. The hash of a key never changes. */
export type KeyState = DeepReadonly<Static<typeof keySchema>>

const seq = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const organizationChange = Type.Object({ seq, kind: Type.Literal('organization'), state: organizationSchema }, strict)
const keyChange = Type.Object({ seq, kind: Type.Literal('key'), state: keySchema }, strict)

/** The full state of one organization or key. */
export type EntityState =
  | DeepReadonly<Omit<Static<typeof organizationChange>, 'seq'>>
  | DeepReadonly<Omit<Static<typeof keyChange>, 'seq'>>

/** The state of an organization or key since the change with this number; applying it twice has no further effect. */
export type Change = EntityState & { readonly seq: number }

/** The schema of a {@link Position}. A new gateway has no feed id and starts at 0. */
export const positionSchema = Type.Object({ feedId: idOrNone, seq }, strict)

/** The position of a copy: the history of which control plane it follows, and the last change that it has. */
export type Position = Readonly<Static<typeof positionSchema>>

/** The schema of a {@link Batch}. Unknown members are refused. */
export const changeBatchSchema = Type.Object({
  feedId: id,
  /** Whether the batch replaces the full copy, which is new, of another control plane, or ahead of a restored one. */
  isSnapshot: Type.Boolean(),
  /** The number that a copy must have reached to apply the batch. */
  after: seq,
  /** The number that it has reached afterwards. */
  through: seq,
  /** Whether the control plane had no further changes. */
  isLatest: Type.Boolean(),
  /** In the order of their numbers; changes superseded by later ones are left out. */
  changes: Type.Array(Type.Union([organizationChange, keyChange]), { maxItems: 10_000 })
}, strict)

/** Changes that belong together: a copy applies all of them or none. */
export type Batch = DeepReadonly<Static<typeof changeBatchSchema>>

/** The source of changes of organizations and keys: a control store in the same process, or a remote control plane. */
export interface ChangeFeed {
  /**
   * Yields all batches after a position and then each new one, without end until the signal is aborted. An empty batch
   * every few seconds confirms that the copy is up to date. Throws when the control plane can't be reached.
   */
  follow (from: Position, signal: AbortSignal): AsyncIterable<Batch>
}
