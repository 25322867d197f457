import { Failure } from '../envelope/failures.js'
import { toReference, withAccessReport } from './access.js'
import { batch } from './bundles/batch.js'
import { conditionalCreate, conditionalDelete, conditionalPatch, conditionalUpdate } from './writes/conditional.js'
import type { TenantContext } from './tenant-context.js'
import { fetchPatientEverything } from './operations/everything.js'
import type { FhirResponse } from './fhir-response.js'
import type { FhirInteraction } from './interaction.js'
import { fhirRead, fhirVersionRead } from './reads/fhir-read.js'
import { fhirSearch } from './reads/search.js'
import { fhirCreate, fhirCreateOnce, fhirDelete, fhirUpdate } from './writes/fhir-writes.js'
import { history } from './reads/history.js'
import { fhirPatch } from './writes/patch.js'
import { authorize } from './policy.js'
import { transaction } from './bundles/transaction.js'
import { validate } from './operations/validate.js'

type Kinds = { readonly [K in FhirInteraction['kind']]: Extract<FhirInteraction, { kind: K }> }
type Performers = {
  readonly [K in keyof Kinds]: (context: TenantContext, interaction: Kinds[K]) => Promise<FhirResponse>
}

/** A proxy forwards the guard's request of a terminology operation, and a job performs an export. */
const rejectNotAllowed = async (): Promise<never> => { throw new Failure('METHOD_NOT_ALLOWED') }

/** The function that performs each kind of interaction. */
const handlers: Performers = {
  read: fhirRead,
  vread: fhirVersionRead,
  history,
  search: fhirSearch,
  create: fhirCreate,
  'create-once': fhirCreateOnce,
  'conditional-create': conditionalCreate,
  update: fhirUpdate,
  'conditional-update': conditionalUpdate,
  patch: fhirPatch,
  'conditional-patch': conditionalPatch,
  delete: fhirDelete,
  'conditional-delete': conditionalDelete,
  everything: fetchPatientEverything,
  validate,
  terminology: rejectNotAllowed,
  export: rejectNotAllowed,
  batch: (context, request) => batch(context, request, interaction => execute(context, interaction)),
  transaction: (context, request) => transaction(context, request, interaction => execute(context, interaction))
}

const withoutReport = {}

/** Decides on an interaction of raw FHIR, and performs it. */
export function execute<K extends keyof Kinds> (
  context: TenantContext,
  interaction: Kinds[K]
): Promise<FhirResponse> {
  const { kind } = interaction
  // The record that criteria lead to is reported as if the client had named it.
  const request: { kind: K; type: string; id?: unknown } = { ...interaction, kind }
  const reportingContext =
    'criteria' in interaction
      ? {
          ...context,
          onMatch: (id: string) => {
            request.id = id
          }
        }
      : context
  // Of a batch or a transaction, each entry is an access; a transaction that failed is one as a whole.
  const reported = kind === 'batch' ? withoutReport : context
  return withAccessReport(reported, request, {
    perform: () => {
      authorize(interaction)
      return handlers[kind as K](reportingContext, interaction)
    },
    shown: ({ record, shown }) => shown?.() ?? (record === undefined ? [] : [toReference(record)])
  })
}
