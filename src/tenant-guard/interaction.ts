import type { FhirResource, StoredResource } from '../mappings/fhir.js'

/**
 * The interaction that a request names, parsed but not yet allowed: the one form that every route makes and that the
 * policy decides on. Names are those of http://hl7.org/fhir/R4/http.html.
 */
export type Interaction = Read | VersionRead | RelatedRead | Search | Create | CreateOnce | Update | Delete | Import

export interface Read { readonly kind: 'read', readonly type: string, readonly id: string }

/** One stored version of a record that still exists. */
export interface VersionRead {
  readonly kind: 'vread'
  readonly type: string
  readonly id: string
  readonly version: string
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

export interface Search {
  readonly kind: 'search'
  readonly type: string
  readonly parameters: readonly SearchParameter[]
  /** Entries per page, 1 to 100. If absent: 20, or with a cursor what the cursor says. */
  readonly count?: number
  /**
   * A cursor that this guard issued; absent for the first page. The parameters and the count are then those of the
   * search that issued it, or absent.
   */
  readonly cursor?: string
  /** What else the cursor is bound to: the route's name. */
  readonly route: string
  /** Conditions that R4 has no search parameter for; none by a cursor alone, which carries them. */
  readonly conditions?: readonly SearchParameter[]
  /** How the gateway checks such conditions. */
  readonly checks?: RecordChecks
}

/** Checks records by conditions that the datastore does not know. */
export interface RecordChecks {
  /** The elements at which the conditions look. */
  elementsOf (conditions: readonly SearchParameter[]): readonly string[]
  isMet (record: StoredResource, conditions: readonly SearchParameter[]): boolean
}

export interface Create { readonly kind: 'create', readonly type: string, readonly resource: FhirResource }

/**
 * A create that takes effect once, whichever gateway gets it and however often: a record with one of the marks is the
 * one that it created.
 */
export interface CreateOnce {
  readonly kind: 'create-once'
  readonly type: string
  readonly resource: FhirResource
  /** The first one is put on a new record. `[A-Za-z0-9_-]`, 1 to 64 characters each. */
  readonly marks: readonly [string, ...string[]]
  /** When the request was first seen; stored with the mark. */
  readonly seenAt: Date
  /** A mark that was first seen before this time belongs to another request. */
  readonly since: Date
}

/** `version` is the stored version that the change was made on; another one stored meanwhile is `CONFLICT`. */
export interface Update {
  readonly kind: 'update'
  readonly type: string
  readonly id: string
  readonly resource: FhirResource
  readonly version: string
  /** The stored record, whose faults prevent no change of something else. */
  readonly before?: FhirResource
}

/** What a change needs so that it is made only once. */
export interface Trace {
  /**
   * The record after the change, if an earlier run made it; `before` is the record that the change would apply to now.
   */
  readonly found: (before: StoredResource) => Promise<StoredResource | undefined>
  /** Writes the change, leaving a trace of it first. */
  readonly leave: <T>(resource: FhirResource, version: string, write: () => Promise<T>) => Promise<T>
}

/** `version`, when present, is the client's If-Match. */
export interface Delete {
  readonly kind: 'delete'
  readonly type: string
  readonly id: string
  readonly version?: string
}

/** One record of an import, stored whole under an id that is the tenant's or that no other tenant can have. */
interface Import { readonly kind: 'import', readonly type: string, readonly id: string }
