import type { Mode } from '../config/mode.js'
import type { Scope } from './caller.js'

/** The state of an organization that a gateway needs. */
export interface OrganizationState {
  readonly tenantId: string
  readonly plan: string
  /**
   * Whether live requests past the monthly quota are served if the plan has overage: false once the organization has
   * switched it off.
   */
  readonly overage: boolean
  /** The name of its own datastore for its live data, on the plan enterprise. */
  readonly datastore?: string
}

/** The state of a key that a gateway needs; times are ISO 8601. The hash of a key never changes. */
export interface KeyState {
  readonly keyId: string
  readonly hash: string
  readonly tenantId: string
  readonly name: string
  readonly mode: Mode
  readonly scopes: readonly Scope[]
  readonly expiresAt?: string
  readonly revokedAt?: string
}

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
