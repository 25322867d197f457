import type { Issue } from '../envelope/failures.js'
import type { StoredResource } from '../mappings/fhir.js'

/** The response to an interaction of raw FHIR: every record in it is the tenant's, and every URL the gateway's. */
export interface FhirResponse {
  readonly status: 200 | 201 | 204
  /** JSON as text or in UTF-8; absent where there is nothing to show. */
  readonly body?: string | Buffer
  /** The record that the response is about, if it is a single one; its version, time and id go into the headers. */
  readonly record?: StoredResource
  /** One for each part that a datastore stored differently than it was sent. */
  readonly warnings?: readonly Issue[]
  /** The records of a Bundle that is shown, as `Type/id`. */
  readonly shown?: () => readonly string[]
}
