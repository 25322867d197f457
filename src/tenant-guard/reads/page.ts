import type { StoredResource } from '../../mappings/fhir.js'

/** A page of a search: the tenant's own resources only. */
export interface Page {
  readonly resources: readonly StoredResource[]
  /** All matches of the search, on every page; absent where the datastore cannot count them. */
  readonly total?: number
  /** Sealed; absent on the last page. */
  readonly cursor?: string
}
