import type { StoredResource } from '../mappings/fhir.js'
import { nameOf, noted } from './access.js'
import { createOnce, type Made } from './writes/create-once.js'
import { ask, type Door } from './door.js'
import type { FhirAnswer } from './fhir-answer.js'
import { demandExportable } from './export/may-export.js'
import type { Export, FhirInteraction, Terminology } from './fhir-interaction.js'
import type { Create, CreateOnce, Delete, Interaction, Read, RelatedRead, Search, Update, VersionRead } from './interaction.js'
import { firstOwned } from './look-up.js'
import type { Page } from './reads/page.js'
import { perform } from './perform.js'
import { decide } from './policy.js'
import { readRelated, type Related } from './reads/related.js'
import { search } from './reads/search.js'
import { passageOf, type Passage } from './operations/terminology.js'
import { versionOf } from './reads/vread.js'
import { readRecord } from './reads/read-record.js'
import { create, remove, update } from './writes/writes.js'

export type { Access } from './access.js'
export type { Incident } from './door.js'
export type { Page } from './reads/page.js'
export type { Related } from './reads/related.js'
export type { Made } from './writes/create-once.js'
export type { FhirAnswer } from './fhir-answer.js'
export type { Passage } from './operations/terminology.js'

declare const guarded: unique symbol

/**
 * A datastore seen by one tenant. Only `tenantGuard` makes one, so a route that forgets the guard does not compile.
 * Unknown, deleted and foreign ids are one and the same failure: NOT_FOUND.
 */
export interface GuardedStore {
  readonly [guarded]: true
  read (interaction: Read): Promise<StoredResource>
  /** Any version but the newest costs one more call. */
  vread (interaction: VersionRead): Promise<StoredResource>
  readRelated (interaction: RelatedRead): Promise<Related>
  search (interaction: Search): Promise<Page>
  create (interaction: Create): Promise<StoredResource>
  createOnce (interaction: CreateOnce): Promise<Made>
  update (interaction: Update): Promise<StoredResource>
  delete (interaction: Delete): Promise<void>
  /** The first of the candidates that is this tenant's and not deleted, e.g. `['Practitioner/1', 'Patient/1']`. */
  firstOwned (candidates: readonly string[]): Promise<string | undefined>
  /** Any interaction of raw FHIR. */
  perform (interaction: FhirInteraction): Promise<FhirAnswer>
  /** Refuses an export that cannot be done; a job performs all others. */
  demandExportable (interaction: Export): Promise<void>
  /** Where a proxy may send a question about codes. */
  passage (interaction: Terminology): Promise<Passage>
}

/** Opens one tenant's part of a datastore for one request: the only way from a route to a backend. */
export function tenantGuard (door: Door): GuardedStore {
  const one = (record: StoredResource) => [nameOf(record)]
  return {
    read: decided(door, async ({ type, id }: Read) => readRecord(door, await ask(door, { method: 'GET', path: `${type}/${id}` }), { type, id }), one),
    vread: decided(door, async (interaction: VersionRead) => (await versionOf(door, interaction)).record, one),
    readRelated: decided(door, (interaction: RelatedRead) => readRelated(door, interaction), ({ record, related }) => [record, ...related].map(nameOf)),
    search: decided(door, (interaction: Search) => search(door, interaction), ({ resources }) => resources.map(nameOf)),
    create: decided(door, async (interaction: Create) => (await create(door, interaction)).record, one),
    createOnce: decided(door, async (interaction: CreateOnce): Promise<Made> => await createOnce(door, interaction), ({ record }) => [nameOf(record)]),
    update: decided(door, async (interaction: Update) => (await update(door, interaction)).record, one),
    delete: decided(door, (interaction: Delete) => remove(door, interaction), () => []),
    firstOwned: candidates => firstOwned(door, candidates),
    perform: interaction => perform(door, interaction),
    demandExportable: interaction => demandExportable(door, interaction),
    passage: decided(door, async (interaction: Terminology) => passageOf(door, interaction), () => [])
  } satisfies Omit<GuardedStore, typeof guarded> as GuardedStore
}

function decided<I extends Interaction | Terminology, T> (door: Door, perform: (interaction: I) => Promise<T>, shown: (result: T) => readonly string[]): (interaction: I) => Promise<T> {
  return async interaction => await noted(door, interaction, {
    shown,
    perform: async () => {
      decide(interaction)
      return await perform(interaction)
    }
  })
}
