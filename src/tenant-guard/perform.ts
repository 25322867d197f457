import { Failure } from '../envelope/failures.js'
import type { Door } from './door.js'
import { everything } from './everything.js'
import type { FhirAnswer } from './fhir-answer.js'
import type { FhirInteraction } from './fhir-interaction.js'
import { fhirRead, fhirVersionRead } from './fhir-read.js'
import { fhirSearch } from './fhir-search.js'
import { fhirCreate, fhirDelete, fhirUpdate } from './fhir-writes.js'
import { history } from './history.js'

type Kinds = { readonly [K in FhirInteraction['kind']]: Extract<FhirInteraction, { kind: K }> }
type Performers = { readonly [K in keyof Kinds]: (door: Door, interaction: Kinds[K]) => Promise<FhirAnswer> }

const notYet = async (): Promise<never> => { throw new Failure('METHOD_NOT_ALLOWED') }

/** Who performs what, of all that the policy knows. */
const performers: Performers = {
  read: fhirRead,
  vread: fhirVersionRead,
  history,
  search: fhirSearch,
  create: fhirCreate,
  'conditional-create': notYet,
  update: fhirUpdate,
  'conditional-update': notYet,
  patch: notYet,
  'conditional-patch': notYet,
  delete: fhirDelete,
  'conditional-delete': notYet,
  everything,
  validate: notYet,
  terminology: notYet,
  batch: notYet,
  transaction: notYet
}

/** Performs an interaction of raw FHIR that the policy has let pass. */
export function perform<K extends keyof Kinds> (door: Door, interaction: Kinds[K]): Promise<FhirAnswer> {
  return performers[interaction.kind as K](door, interaction)
}
