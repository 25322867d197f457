import type { FhirElement } from '../fhir.js'

/** An R4 invariant on elements that the simple form shows, checked before the backend could. */
export interface Rule {
  /** R4's own key, such as obs-6. */
  readonly key: string
  /** The fields to correct, each named in an issue. */
  readonly fields: readonly string[]
  /** What to do. */
  readonly says: string
  readonly holds: (resource: FhirElement) => boolean
}
