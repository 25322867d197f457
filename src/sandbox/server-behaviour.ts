/**
 * How a sandbox does what FHIR leaves open to a server. Left as they are, it does as HAPI does; tests have it do
 * otherwise, so that nothing in the gateway leans on one server's ways.
 */
export interface ServerBehaviour {
  /** What the link to the next page holds: the place in the result, or a token that stands for it, as Azure's `ct`. */
  readonly pages: 'offset' | 'token'
  /** What an update does to tags and security labels that it does not name. */
  readonly labels: 'kept' | 'replaced'
  /** Whether a page says how many records match, or only a response to `_summary=count`, or none. */
  readonly totals: 'on pages' | 'counted apart' | 'never'
  /** Whether `Prefer: return=…` is obeyed; otherwise a write is answered without the record. */
  readonly writesShow: 'as preferred' | 'nothing'
  /**
   * Whether a search parameter that is unknown is refused, or passed over unless `Prefer: handling=strict` is sent, or
   * whatever is sent.
   */
  readonly unknownParameters: 'refused' | 'passed over' | 'always passed over'
  /** Whether a reference must lead to a record, for as long as it stands. */
  readonly references: 'checked' | 'as given'
  /** Whether a delete is answered with words or with 204. */
  readonly deletes: 'told' | 'silent'
  /** Whether `application/json` does for FHIR. */
  readonly json: 'any' | 'fhir'
  /** Which parameters of a search by form count: those of the form and of the URL, or one of the two alone. */
  readonly formSearches: 'form and url' | 'form alone' | 'url alone'
  /**
   * How responses write references to records of the server: as stored, or below its base URL, which R4 allows as well.
   */
  readonly shownReferences: 'as stored' | 'absolute'
  /** Search and result parameters that the server lacks, such as `Basic.patient` or `Patient._sort`. */
  readonly missingParameters: readonly string[]
  /** Result parameters and conditions that every search ignores, `Prefer: handling=strict` or not. */
  readonly ignoredParameters: readonly string[]
  /** Types that the server serves and that its CapabilityStatement leaves out. */
  readonly unstatedTypes: readonly string[]
  /** Types whose records clients can't write: 405. */
  readonly readOnlyTypes: readonly string[]
}

export const defaultBehaviour: ServerBehaviour = {
  pages: 'offset',
  labels: 'kept',
  totals: 'on pages',
  writesShow: 'as preferred',
  unknownParameters: 'refused',
  references: 'checked',
  deletes: 'told',
  json: 'any',
  formSearches: 'form and url',
  shownReferences: 'as stored',
  missingParameters: [],
  ignoredParameters: [],
  unstatedTypes: [],
  readOnlyTypes: []
}
