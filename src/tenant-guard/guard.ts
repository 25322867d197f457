import type { StoredResource } from '../mappings/fhir.js'
import type { Create, Delete, Read, Search, Update } from './interaction.js'

declare const guarded: unique symbol

/** A page of a search: the tenant's own resources only. */
export interface Page {
  readonly resources: readonly StoredResource[]
  /** All matches of the search, on every page; absent only after an isolation incident on this page. */
  readonly total?: number
  /** Sealed; absent on the last page. */
  readonly cursor?: string
}

/**
 * A datastore seen by one tenant. Only `tenantGuard` makes one, so a route that forgets the guard does not compile.
 * Unknown, deleted and foreign ids are one and the same failure: NOT_FOUND.
 */
export interface GuardedStore {
  readonly [guarded]: true
  read (interaction: Read): Promise<StoredResource>
  search (interaction: Search): Promise<Page>
  create (interaction: Create): Promise<StoredResource>
  update (interaction: Update): Promise<StoredResource>
  delete (interaction: Delete): Promise<void>
  /** The first of the candidates that is this tenant's and not deleted, e.g. `['Practitioner/1', 'Patient/1']`. */
  firstOwned (candidates: readonly string[]): Promise<string | undefined>
}
