import type { StoredResource } from '../mappings/fhir.js'

/** What an interaction of raw FHIR is answered with: every record in it is the tenant's, every URL the gateway's. */
export interface FhirAnswer {
  readonly status: 200 | 201 | 204
  /** JSON text; absent where there is nothing to show. */
  readonly body?: string
  /** The one record that the answer is about, where there is one: it has the version, the time and the place. */
  readonly record?: StoredResource
  /** Those of a Bundle that is shown, as `Type/id`. */
  readonly shown?: () => readonly string[]
}
