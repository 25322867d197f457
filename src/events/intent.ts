import type { ChangeKind } from './event.js'
import type { Mode } from '../config/mode.js'

/**
 * A change that is about to be requested from the datastore, with the data to find out afterwards whether it was made.
 * Nothing clinical.
 */
export interface PlannedChange {
  /** For a conditional update or an import, what it is expected to be; the datastore's response decides. */
  readonly kind: ChangeKind
  readonly type: string
  /** Absent where the datastore chooses it. */
  readonly id?: string
  /** The version that is replaced, if the gateway knows it. A response with the same version changed nothing. */
  readonly before?: string
}

/** A change as it was made. */
export interface MadeChange {
  readonly kind: ChangeKind
  readonly type: string
  readonly id: string
  readonly version?: string | undefined
}

/** The changes that the datastore has made of an intent whose outcome is unknown. */
export interface FoundChanges {
  /** The changes of records with known ids, by their places; undefined for one that was not made or has no known id. */
  readonly named: ReadonlyArray<MadeChange | undefined>
  /** New records that the intent may have created, those of other requests included. */
  readonly created: readonly MadeChange[]
}

/** Whose change it is, and how the datastore is found again. */
export interface ChangeOwner {
  readonly tenantId: string
  readonly mode: Mode
  readonly plan: string
  readonly datastore?: string
}

/** The changes of one request to a datastore, which are stored before it is sent. */
export interface Intent {
  readonly owner: ChangeOwner
  readonly requestId: string
  /** ISO 8601 in UTC. */
  readonly startedAt: string
  /** The id of the first event; see eventId. */
  readonly eventId: string
  readonly changes: readonly PlannedChange[]
}

/** Reports the outcome of an intent. One of them is called, once. */
export interface OpenChange {
  /**
   * The changes that were made, by the place of each among the planned ones; undefined for one that changed nothing.
   * Resolves when the events are on disk. @throws {Failure} BACKEND_UNAVAILABLE if they can't be written yet
   */
  readonly made: (changes: ReadonlyArray<MadeChange | undefined>) => Promise<void>
  /** The datastore refused it: nothing was changed. */
  readonly refused: () => void
  /** The outcome is unknown. The datastore is queried later. */
  readonly unknown: () => void
}

/** Writes down each change of a tenant's records, so that it becomes an event. */
export interface ChangeRecorder {
  /**
   * Resolves when the intent is written, so that it outlives this process; only then is the request sent to the
   * datastore.
   * @throws {Failure} BACKEND_UNAVAILABLE if it can't be written
   */
  begin (changes: readonly PlannedChange[]): Promise<OpenChange>
}
