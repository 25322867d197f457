import type { FhirElement } from '../fhir.js'

/** An invariant on elements that the simple form shows, checked before the backend could; or advice. */
export interface Rule {
  /**
   * R4's own key, such as obs-6; of advice, who gives it. Absent: a rule of ours, such as that nothing ends before it
   * starts.
   */
  readonly key?: string
  /** A record that breaks advice is stored, and who wrote it is told. Absent: the record is refused. */
  readonly severity?: 'warning'
  /** The fields to correct, each named in an issue. */
  readonly fields: readonly string[]
  /** What to do. */
  readonly message: string
  readonly holds: (resource: FhirElement) => boolean
}
