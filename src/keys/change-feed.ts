import { Type, type Static } from 'typebox'
import { modes } from '../config/mode.js'
import type { DeepReadonly } from '../config/schema.js'
import { idSchema as id } from '../control-plane/outbox/batch.js'
import type { Scope } from './caller.js'

const strict = { additionalProperties: false }
const time = Type.String({ format: 'iso-time' })

/**
 * The scopes of a key, also those that only a newer control plane knows: they permit nothing at a gateway that does not
 * know them, and must not keep it from learning of other keys.
 */
export const scopesSchema = Type.Unsafe<Scope[]>(
  Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 1_000 })
)

/** The schema of an {@link OrganizationState}. Unknown members are refused: they must not be ignored. */
export const organizationSchema = Type.Object({
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

/** The schema of a {@link KeyState}. Unknown members are refused. */
export const keySchema = Type.Object({
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

/** The full state of one organization or key. */
export type EntityState =
  | { readonly kind: 'organization', readonly state: OrganizationState }
  | { readonly kind: 'key', readonly state: KeyState }

/** The state of an organization or key since the change with this number; applying it twice has no further effect. */
export type Change = EntityState & { readonly seq: number }

/** The position of a copy: the history of which control plane it follows, and the last change that it has. */
export interface Position {
  readonly feedId: string
  readonly seq: number
}

/** Changes that belong together: a copy applies all of them or none. */
export interface Batch {
  readonly feedId: string
  /** Whether the batch replaces the full copy, which is new, of another control plane, or ahead of a restored one. */
  readonly isSnapshot: boolean
  /** The number that a copy must have reached to apply the batch. */
  readonly after: number
  /** The number that it has reached afterwards. */
  readonly through: number
  /** Whether the control plane had no further changes. */
  readonly isLatest: boolean
  /** In the order of their numbers; changes superseded by later ones are left out. */
  readonly changes: readonly Change[]
}

/** The source of changes of organizations and keys: a control store in the same process, or a remote control plane. */
export interface ChangeFeed {
  /**
   * Yields all batches after a position and then each new one, without end until the signal is aborted. An empty batch
   * every few seconds confirms that the copy is up to date. Throws when the control plane can't be reached.
   */
  follow (from: Position, signal: AbortSignal): AsyncIterable<Batch>
}
