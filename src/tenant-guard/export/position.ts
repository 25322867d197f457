import type { ExportRequest } from '../../jobs/model/job.js'

/** Which of a tenant's records an export is to hold. */
export type ExportSelection = Pick<
  ExportRequest, 'types' | 'since' | 'until' | 'filters' | 'level' | 'groupId' | 'patients'
>

/** How far the datastore's native export has come; `job` is the URL of its status, relative to the base URL. */
export interface NativeExportPosition {
  readonly job?: string
  /** Files that were taken whole. */
  readonly file: number
  /** Lines taken of the next one. */
  readonly lines: number
  /** How often an export was begun. */
  readonly begun: number
}

/** Where an export can go on, as JSON. No id of a record is in it. */
export interface ExportPosition {
  /** The export contains at least the state of this time, by the datastore's clock: ISO 8601. */
  readonly asOf: string
  /** Absent where it can't be known without reading the records. */
  readonly total?: number
  /** Types that have records to be exported, in the order of the request. */
  readonly types: readonly string[]
  /** Types of a group's export that the datastore can't search by patient; absent where there are none. */
  readonly unnarrowedTypes?: readonly string[]
  /**
   * Absent where the datastore has no native export that serves; `done` once all of it was taken. Jobs that began under
   * an older version have it under this name.
   */
  readonly own?: NativeExportPosition | 'done'
  /** Of the types that are walked over: how many are done, and up to which time the next one. */
  readonly walked: number
  readonly after?: string
}

/** One record as it leaves the guard: checked, with the gateway's URLs. */
export interface Line {
  readonly text: string
  /** The same read, numbers with their own text. */
  readonly exact: () => unknown
}

/** One chunk of an export. */
export interface ExportChunk {
  /** The type of all lines; absent where there are none. */
  readonly type?: string
  readonly lines: readonly Line[]
  /** Where an export resumes once these lines are stored; absent in between. */
  readonly position?: ExportPosition
  /** Whether the position must be saved: the datastore has started an operation. */
  readonly isStep?: boolean
  /**
   * Whether these records changed after the export began, so that an earlier chunk may hold an earlier version of them.
   */
  readonly isLate?: boolean
  /** Whether the export starts again: all earlier chunks are void. */
  readonly restartsExport?: boolean
}
