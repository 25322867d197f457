import type { Mode } from '../../config/mode.js'

/** A change of a record. It has ids only: nothing clinical. */
export interface EventRow {
  /** Where it stands among all events of the control plane. */
  sequence: number
  id: string
  organizationId: string
  mode: Mode
  type: string
  createdAt: string
  resourceType: string
  resourceId: string
  versionId: string | null
  requestId: string
}

/** The one row with the sequence number of the latest event. */
export interface EventCounterRow { sequence: number }
