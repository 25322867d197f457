import type { ReadConditions } from '../envelope/preconditions.js'
import type { Failure } from '../envelope/failures.js'
import type { FhirElement, FhirResource } from '../mappings/fhir.js'
import type { ExportRequest } from '../jobs/model/job.js'
import type { CreateOnce, Include, Interaction, Read, SearchParameter, Trace, VersionRead } from './interaction.js'

/**
 * What a request of raw FHIR requests, beyond the interactions of the simple resources. Names are those of
 * http://hl7.org/fhir/R4/http.html.
 */
export type FhirInteraction =
  | FhirRead | VersionRead | History | FhirSearch
  | FhirCreate | CreateOnce | FhirUpdate | Patch | FhirDelete
  | ConditionalCreate | ConditionalUpdate | ConditionalPatch | ConditionalDelete
  | EverythingOperation | Validate | Terminology | Export
  | Batch | Transaction

/** Every kind of interaction. Tables by kind are a `Record` of these, so that none is forgotten. */
export type InteractionKind = (Interaction | FhirInteraction)['kind']

/** Which parts of records are wanted: http://hl7.org/fhir/R4/search.html#elements */
export interface Projection {
  /** Names of elements, joined by commas. */
  readonly elements?: string
  readonly summary?: 'true' | 'text' | 'data' | 'false'
}

export interface FhirRead extends Read { readonly shape?: Projection }

/** The stored versions of a record that still exists, newest first. */
export interface History {
  readonly kind: 'history'
  readonly type: string
  readonly id: string
  readonly count?: number
  /** Versions from this instant on. */
  readonly since?: string
  readonly cursor?: string
}

/**
 * A look into other records: `chain` from a record's reference to what it leads to, `has` from what refers to it.
 * http://hl7.org/fhir/R4/search.html#chaining
 */
export interface ChainedCondition {
  readonly direction: 'chain' | 'has'
  /** Whose condition it is: the types that the reference may lead to, or the one that refers. */
  readonly types: readonly string[]
  /** The search parameter that is the reference. */
  readonly reference: string
  readonly condition: SearchParameter
}

/** An {@link Include} that may be followed from included records as well. */
export interface IterableInclude extends Include { readonly iterate?: boolean }

/** A record that others belong to, and the search parameters that lead to it, of which one is enough. */
export interface Compartment { readonly type: string, readonly id: string, readonly parameters: readonly string[] }

export interface FhirSearch {
  readonly kind: 'search'
  readonly type: string
  /** The conditions on the records themselves, and `_sort`. */
  readonly parameters: readonly SearchParameter[]
  readonly joins: readonly ChainedCondition[]
  readonly includes: readonly IterableInclude[]
  readonly within?: Compartment
  readonly shape?: Projection
  /** Entries per page; 0 if only the number of matches is wanted. */
  readonly count?: number
  readonly total?: 'none' | 'estimate' | 'accurate'
  /** A cursor that this guard issued; then nothing else. */
  readonly cursor?: string
  /** The search as the client sent it, for the link `self`. */
  readonly requested: readonly SearchParameter[]
}

export interface FhirCreate { readonly kind: 'create', readonly type: string, readonly resource: FhirResource }

/** `version`, when present, is the client's If-Match. */
export interface FhirUpdate {
  readonly kind: 'update'
  readonly type: string
  readonly id: string
  readonly resource: FhirResource
  readonly version?: string
}

/** A JSON Patch, RFC 6902, on the record as FHIR. */
export interface Patch {
  readonly kind: 'patch'
  readonly type: string
  readonly id: string
  readonly patch: readonly unknown[]
  readonly version?: string
  readonly trace?: Trace
}

export interface FhirDelete {
  readonly kind: 'delete'
  readonly type: string
  readonly id: string
  readonly version?: string
}

/** Conditions of a search that identify the record, at least one. */
export interface Criteria { readonly type: string, readonly parameters: readonly SearchParameter[] }

export interface ConditionalCreate {
  readonly kind: 'conditional-create'
  readonly type: string
  readonly resource: FhirResource
  readonly criteria: Criteria
}
export interface ConditionalUpdate {
  readonly kind: 'conditional-update'
  readonly type: string
  readonly resource: FhirResource
  readonly criteria: Criteria
  readonly version?: string
}
export interface ConditionalPatch {
  readonly kind: 'conditional-patch'
  readonly type: string
  readonly patch: readonly unknown[]
  readonly criteria: Criteria
  readonly version?: string
}
export interface ConditionalDelete {
  readonly kind: 'conditional-delete'
  readonly type: string
  readonly criteria: Criteria
  readonly version?: string
}

/** A patient and everything about them: http://hl7.org/fhir/R4/patient-operation-everything.html */
export interface EverythingOperation {
  readonly kind: 'everything'
  readonly type: 'Patient'
  readonly id: string
  /** `_since`, `_type`, `start`, `end`. */
  readonly parameters: readonly SearchParameter[]
  readonly count?: number
  readonly cursor?: string
}

/** Whether a resource would be valid: http://hl7.org/fhir/R4/resource-operation-validate.html */
export interface Validate { readonly kind: 'validate', readonly type: string, readonly resource: FhirResource }

/** A terminology operation, on what the operator loaded: http://hl7.org/fhir/R4/terminology-service.html */
export interface Terminology {
  readonly kind: 'terminology'
  readonly type: 'CodeSystem' | 'ConceptMap' | 'ValueSet'
  /** With the dollar sign: `$expand`. */
  readonly operation: string
  /** A text for a simple type, else a Coding or CodeableConcept. */
  readonly parameters: ReadonlyArray<{ readonly name: string, readonly value: string | FhirElement }>
}

/** Many records at once, collected by a job: http://hl7.org/fhir/uv/bulkdata/ */
export interface Export {
  readonly kind: 'export'
  /** Where it was requested; a group is named by its id. */
  readonly type: 'Bundle' | 'Patient' | 'Group'
  readonly id?: string
  /** What is to be exported, but for the URL. */
  readonly request: Omit<ExportRequest, 'url'>
}

/** One request of a Bundle, parsed. */
export interface BundleEntry {
  /** By which other entries of a transaction refer to what this one writes: `urn:uuid:…`, or a URL of any server. */
  readonly fullUrl?: string
  readonly interaction: Exclude<FhirInteraction, Batch | Transaction>
  /** Of a read. */
  readonly conditions?: ReadConditions
}

/** Independent requests, each with its own response; a request that was refused already is a failure. */
export interface Batch {
  readonly kind: 'batch'
  readonly type: 'Bundle'
  readonly entries: ReadonlyArray<BundleEntry | { readonly failure: Failure }>
  /** Whether the response shows the records that were written. */
  readonly showsWritten: boolean
}

/** Requests that are all performed, or none. */
export interface Transaction {
  readonly kind: 'transaction'
  readonly type: 'Bundle'
  readonly entries: readonly BundleEntry[]
  /** References that name a record by criteria, `Patient?identifier=…`, by their texts. */
  readonly references: ReadonlyMap<string, Criteria>
  /** Whether the response shows the records that were written. */
  readonly showsWritten: boolean
}
