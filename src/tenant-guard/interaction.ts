import type { Failure } from '../envelope/failures.js'
import type { ReadConditions } from '../envelope/preconditions.js'
import type { ExportRequest } from '../jobs/model/job.js'
import type { FhirElement, FhirResource, StoredResource } from '../mappings/fhir.js'

/**
 * The interaction that a request names, parsed but not yet allowed: the one form that every route makes and that the
 * policy decides on. Names are those of http://hl7.org/fhir/R4/http.html.
 */
export type Interaction =
  | Read | VersionRead | History | RelatedRead | Search
  | Create | CreateOnce | Update | Patch | Delete
  | ConditionalCreate | ConditionalUpdate | ConditionalPatch | ConditionalDelete
  | EverythingOperation | Validate | Terminology | Export | Import
  | Batch | Transaction

/** Every kind of interaction. Tables by kind are a `Record` of these, so that none is forgotten. */
export type InteractionKind = Interaction['kind']

/** The interactions that a request of raw FHIR can name; the others are for the simple resources and for imports. */
export type FhirInteraction = Exclude<Interaction, RelatedRead | Import>

/** Which parts of records are wanted: http://hl7.org/fhir/R4/search.html#elements */
export interface Projection {
  /** Names of elements, joined by commas. */
  readonly elements?: string
  readonly summary?: 'true' | 'text' | 'data' | 'false'
}

export interface Read { readonly kind: 'read', readonly type: string, readonly id: string, readonly shape?: Projection }

/** One stored version of a record that still exists. */
export interface VersionRead {
  readonly kind: 'vread'
  readonly type: string
  readonly id: string
  readonly version: string
}

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

/** A record together with others, one reference away. */
export interface RelatedRead {
  readonly kind: 'read-related'
  readonly type: string
  readonly id: string
  readonly includes: readonly Include[]
}

/**
 * A search parameter that is followed from a record: `include` by the record's own references, `revinclude` back from
 * records of `type` that refer to it. http://hl7.org/fhir/R4/search.html#include
 */
export interface Include {
  readonly direction: 'include' | 'revinclude'
  /** Whose search parameter it is. */
  readonly type: string
  readonly parameter: string
  /** For `include`: the only type of records that are wanted. */
  readonly target?: string
}

/**
 * One search parameter with its modifier in the name; the value has FHIR's escapes (`\,` `\|` `\$` `\\`) but no URL
 * encoding.
 */
export type SearchParameter = readonly [name: string, value: string]

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

/** A search of the records of a type: http://hl7.org/fhir/R4/search.html */
export interface Search {
  readonly kind: 'search'
  readonly type: string
  /** The conditions on the records themselves, and `_sort`. */
  readonly parameters: readonly SearchParameter[]
  readonly joins?: readonly ChainedCondition[]
  readonly includes?: readonly IterableInclude[]
  readonly within?: Compartment
  readonly shape?: Projection
  /**
   * Entries per page, at most 1,000; 0 if only the number of matches is wanted. If absent: 20, or with a cursor what
   * the cursor says.
   */
  readonly count?: number
  /** How exact the number of matches must be; if absent, the datastore decides. */
  readonly total?: 'none' | 'estimate' | 'accurate'
  /**
   * A cursor that this guard issued; absent for the first page. It carries the search, so that the parameters and the
   * count are those of the search that issued it, or absent.
   */
  readonly cursor?: string
  /** The route, to which the cursor is bound as well. */
  readonly route: string
  /** The search as the client of raw FHIR sent it, for the link `self`. */
  readonly requested?: readonly SearchParameter[]
  /** Conditions that R4 has no search parameter for; none by a cursor alone, which carries them. */
  readonly conditions?: readonly SearchParameter[]
  /** How the gateway checks such conditions. */
  readonly checks?: RecordChecks
}

/** Checks records by conditions that the datastore does not know. */
export interface RecordChecks {
  /** The elements at which the conditions look. */
  getElements (conditions: readonly SearchParameter[]): readonly string[]
  isMet (record: StoredResource, conditions: readonly SearchParameter[]): boolean
}

export interface Create { readonly kind: 'create', readonly type: string, readonly resource: FhirResource }

/**
 * A create that takes effect once, on any gateway and after any number of retries: a record with one of the tags is the
 * one that it created.
 */
export interface CreateOnce {
  readonly kind: 'create-once'
  readonly type: string
  readonly resource: FhirResource
  /** The first one is put on a new record. `[A-Za-z0-9_-]`, 1 to 64 characters each. */
  readonly tags: readonly [string, ...string[]]
  /** When the request was first seen; stored with the tag. */
  readonly seenAt: Date
  /** A tag that was first seen before this time belongs to another request. */
  readonly since: Date
}

/**
 * `version`, when present, is the stored version that the change was made on, or the client's If-Match; another one
 * stored meanwhile is `CONFLICT`.
 */
export interface Update {
  readonly kind: 'update'
  readonly type: string
  readonly id: string
  readonly resource: FhirResource
  readonly version?: string
  /** The stored record, whose faults prevent no change of something else. */
  readonly before?: FhirResource
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

/** The facts that make a change take effect only once. */
export interface Trace {
  /**
   * The record after the change, if an earlier run made it; `before` is the record that the change would apply to now.
   */
  readonly findEarlierWrite: (before: StoredResource) => Promise<StoredResource | undefined>
  /** Writes the change, leaving a trace of it first. */
  readonly leave: <T>(resource: FhirResource, version: string, write: () => Promise<T>) => Promise<T>
}

/** `version`, when present, is the client's If-Match. */
export interface Delete {
  readonly kind: 'delete'
  readonly type: string
  readonly id: string
  readonly version?: string
  /** Whether the records that refer to this one are looked for where it cannot be deleted. The caller may read. */
  readonly listsReferrers?: boolean
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
  /** Whether the client named the types; otherwise they are all that there are. */
  readonly namesTypes: boolean
  /** The request of the export, without the URL. */
  readonly request: Omit<ExportRequest, 'url'>
}

/** One record of an import, stored whole under an id that is the tenant's or that no other tenant can have. */
interface Import { readonly kind: 'import', readonly type: string, readonly id: string }

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
