import type { Mode } from '../config/mode.js'
import type { Scope } from './caller.js'

/** What a gateway needs to know of an organization. */
export interface OrganizationState {
  readonly tenantId: string
  readonly plan: string
  /**
   * Whether live requests past the month's allowance are served where the plan has that: false once the organization
   * switched it off.
   */
  readonly overage: boolean
  /** The name of the datastore of its own that holds its live data, on the plan enterprise. */
  readonly datastore?: string
}

/** What a gateway needs to know of a key; times are ISO 8601. The hash of a key never changes. */
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

/** The whole state of one organization or key. */
export type EntityState =
  | { readonly kind: 'organization', readonly state: OrganizationState }
  | { readonly kind: 'key', readonly state: KeyState }

/** What an organization or key is since the change with this number; taking it twice is the same as taking it once. */
export type Change = EntityState & { readonly seq: number }

/** How far a copy has come: in the history of which control plane, and up to which of its changes. */
export interface Position {
  readonly feedId: string
  readonly seq: number
}

/** Changes that belong together: a copy takes all of them or none. */
export interface Batch {
  readonly feedId: string
  /** Nothing that a copy holds counts any more: it is new, or of another control plane, or ahead of a restored one. */
  readonly isSnapshot: boolean
  /** The number that a copy must have reached to take the batch. */
  readonly after: number
  /** The number that it has reached with it. */
  readonly through: number
  /** Whether this was all that the control plane had. */
  readonly isLatest: boolean
  /** In the order of their numbers; one that a later change overtook is left out. */
  readonly changes: readonly Change[]
}

/**
 * Where changes of organizations and keys come from: a control store in the same process, or a control plane far away.
 */
export interface ChangeFeed {
  /**
   * All batches after a position and then each new one when it comes, without end until the signal is aborted. An empty
   * batch every few seconds says that the copy is still up to date. Throws when the control plane can't be reached.
   */
  follow (from: Position, signal: AbortSignal): AsyncIterable<Batch>
}
