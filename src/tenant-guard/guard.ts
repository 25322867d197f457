import type { StoredResource } from '../mappings/fhir.js'
import { createOnce, type Made } from './writes/create-once.js'
import { ask } from './door.js'
import type { Door } from './door.js'
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
import { create, readRecord, remove, update } from './writes/writes.js'

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
  /** The version is the stored record's when nothing was changed since, and costs a call more when something was. */
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
  /** Refuses an export that could not be; a job performs the others. */
  demandExportable (interaction: Export): Promise<void>
  /** The way of a question about codes, for a proxy. */
  passage (interaction: Terminology): Promise<Passage>
}

/** Opens one tenant's part of a datastore for one request: the only way from a route to a backend. */
export function tenantGuard (door: Door): GuardedStore {
  return {
    read: decided(async ({ type, id }: Read) => readRecord(door, await ask(door, { method: 'GET', path: `${type}/${id}` }), { type, id })),
    vread: decided(async (interaction: VersionRead) => (await versionOf(door, interaction)).record),
    readRelated: decided((interaction: RelatedRead) => readRelated(door, interaction)),
    search: decided((interaction: Search) => search(door, interaction)),
    create: decided(async (interaction: Create) => (await create(door, interaction)).record),
    createOnce: decided((interaction: CreateOnce) => createOnce(door, interaction)),
    update: decided(async (interaction: Update) => (await update(door, interaction)).record),
    delete: decided((interaction: Delete) => remove(door, interaction)),
    firstOwned: candidates => firstOwned(door, candidates),
    perform: interaction => perform(door, interaction),
    demandExportable: interaction => demandExportable(door, interaction),
    passage: decided(async (interaction: Terminology) => passageOf(door, interaction))
  } satisfies Omit<GuardedStore, typeof guarded> as GuardedStore
}

function decided<I extends Interaction | Terminology, T> (perform: (interaction: I) => Promise<T>): (interaction: I) => Promise<T> {
  return async interaction => {
    decide(interaction)
    return perform(interaction)
  }
}
