import type { StoredResource } from '../mappings/fhir.js'
import { toReference, withAccessReport } from './access.js'
import { createOnce, type CreateResult } from './writes/create-once.js'
import { sendRequest, type TenantContext } from './tenant-context.js'
import type { FhirResponse } from './fhir-response.js'
import { requireExportable } from './export/export.js'
import type {
  Export,
  FhirInteraction,
  Terminology,
  Create,
  CreateOnce,
  Delete,
  Interaction,
  Read,
  RelatedRead,
  Search,
  Update,
  VersionRead
} from './interaction.js'
import { filterOwnedInBatch } from './reads/fetch-owned.js'
import type { Page, JsonPage } from './reads/pages.js'
import { execute } from './perform.js'
import { authorize } from './policy.js'
import { readRelated, type Related } from './reads/related.js'
import { search, searchJson } from './reads/record-search.js'
import { buildTerminologyRequest, type TerminologyRequest } from './operations/terminology.js'
import { fetchVersion } from './reads/vread.js'
import { readRecord } from './reads/read-record.js'
import { create, remove, update, type WrittenRecord } from './writes/writes.js'

export type { Access } from './access.js'
export type { Incident, StoredDifferences } from './tenant-context.js'
export type { Page, JsonPage } from './reads/pages.js'
export type { Related } from './reads/related.js'
export type { CreateResult } from './writes/create-once.js'
export type { WrittenRecord } from './writes/writes.js'
export type { FhirResponse } from './fhir-response.js'
export type { TerminologyRequest } from './operations/terminology.js'

declare const guarded: unique symbol

/**
 * A datastore seen by one tenant. Only `tenantGuard` makes one, so a route that forgets the guard does not compile.
 * Unknown, deleted and foreign ids are one and the same failure: NOT_FOUND.
 */
export interface TenantStore {
  readonly [guarded]: true
  read (interaction: Read): Promise<StoredResource>
  /** Any version but the newest costs one more call. */
  vread (interaction: VersionRead): Promise<StoredResource>
  readRelated (interaction: RelatedRead): Promise<Related>
  search (interaction: Search): Promise<Page>
  /** The same, as the datastore's text where that is possible. */
  searchJson (interaction: Search): Promise<Page | JsonPage>
  create (interaction: Create): Promise<WrittenRecord>
  createOnce (interaction: CreateOnce): Promise<CreateResult>
  update (interaction: VersionedUpdate): Promise<WrittenRecord>
  delete (interaction: Delete): Promise<void>
  /** Those of the candidates that are this tenant's and not deleted, such as `['Practitioner/1', 'Patient/1']`. */
  filterOwned (candidates: Iterable<string>): Promise<ReadonlySet<string>>
  /** Whether the key may look up records of a type by their ids, to refer to them. */
  mayReferTo (type: string): boolean
  /** Any interaction of raw FHIR. */
  perform (interaction: FhirInteraction): Promise<FhirResponse>
  /** Refuses an export that cannot be done; a job performs all others. */
  requireExportable (interaction: Export): Promise<void>
  /** Where a proxy may send a question about codes. */
  buildTerminologyRequest (interaction: Terminology): Promise<TerminologyRequest>
}

/** An update of the version that was read, so that no other change is lost. */
type VersionedUpdate = Update & { readonly version: string }

/** Opens one tenant's part of a datastore for one request: the only way from a route to a backend. */
export function tenantGuard (context: TenantContext): TenantStore {
  return new GuardedStore(context) satisfies Omit<TenantStore, typeof guarded> as unknown as TenantStore
}

/** A class, since each request makes one: its methods are made once. */
class GuardedStore {
  readonly #context: TenantContext

  constructor (context: TenantContext) {
    this.#context = context
  }

  read (interaction: Read): Promise<StoredResource> {
    return this.#decide(interaction, readOne, toReferences)
  }

  vread (interaction: VersionRead): Promise<StoredResource> {
    return this.#decide(
      interaction,
      async (context, wanted) => (await fetchVersion(context, wanted)).record,
      toReferences
    )
  }

  readRelated (interaction: RelatedRead): Promise<Related> {
    return this.#decide(interaction, readRelated, ({ record, related }) => [record, ...related].map(toReference))
  }

  search (interaction: Search): Promise<Page> {
    return this.#decide(interaction, search, toPageReferences)
  }

  searchJson (interaction: Search): Promise<Page | JsonPage> {
    return this.#decide(interaction, searchJson, toPageReferences)
  }

  create (interaction: Create): Promise<WrittenRecord> {
    return this.#decide(interaction, create, toWrittenReferences)
  }

  createOnce (interaction: CreateOnce): Promise<CreateResult> {
    return this.#decide(interaction, createOnce, toWrittenReferences)
  }

  update (interaction: VersionedUpdate): Promise<WrittenRecord> {
    return this.#decide(interaction, update, toWrittenReferences)
  }

  delete (interaction: Delete): Promise<void> {
    return this.#decide(interaction, remove, () => [])
  }

  filterOwned (candidates: Iterable<string>): Promise<ReadonlySet<string>> {
    return filterOwnedInBatch(this.#context, candidates)
  }

  mayReferTo (type: string): boolean {
    return this.#context.access?.mayReferTo(type) ?? true
  }

  perform (interaction: FhirInteraction): Promise<FhirResponse> {
    return execute(this.#context, interaction)
  }

  requireExportable (interaction: Export): Promise<void> {
    return requireExportable(this.#context, interaction)
  }

  buildTerminologyRequest (interaction: Terminology): Promise<TerminologyRequest> {
    return this.#decide(interaction, async (context, wanted) => buildTerminologyRequest(context, wanted), () => [])
  }

  #decide<I extends Interaction | Terminology, T> (
    interaction: I,
    perform: (context: TenantContext, interaction: I) => Promise<T>,
    shown: (result: T) => readonly string[]
  ): Promise<T> {
    return withAccessReport(this.#context, interaction, {
      shown,
      perform: () => {
        authorize(interaction)
        return perform(this.#context, interaction)
      }
    })
  }
}

const toReferences = (record: StoredResource): string[] => [toReference(record)]
const toPageReferences = (page: Page | JsonPage): string[] =>
  ('json' in page ? page.records : page.resources).map(toReference)
const toWrittenReferences = ({ record }: WrittenRecord): string[] => toReferences(record)

async function readOne (context: TenantContext, { type, id }: Read): Promise<StoredResource> {
  return readRecord(context, await sendRequest(context, { method: 'GET', path: `${type}/${id}` }), { type, id })
}
