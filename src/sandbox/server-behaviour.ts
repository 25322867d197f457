/**
 * The behaviour of a sandbox where FHIR leaves a choice to the server. The defaults are those of HAPI; tests set
 * others, so that nothing in the gateway depends on one server.
 */
export interface ServerBehaviour {
  /** The content of the link to the next page: the offset in the result, or a token for it, as Azure's `ct`. */
  readonly pages: 'offset' | 'token'
  /** The effect of an update on tags and security labels that it does not name. */
  readonly labels: 'retained' | 'replaced'
  /** Whether a page says how many records match, or only a response to `_summary=count`, or none. */
  readonly totals: 'on pages' | 'counted separately' | 'never'
  /** Whether a write obeys `Prefer: return=…`; otherwise its response does not contain the record. */
  readonly writesShow: 'as preferred' | 'nothing'
  /**
   * Whether an unknown search parameter is rejected, or ignored unless the client sends `Prefer: handling=strict`, or
   * always ignored.
   */
  readonly unknownParameters: 'rejected' | 'ignored' | 'always ignored'
  /** Whether a reference must lead to a record, for as long as it stands. */
  readonly references: 'checked' | 'unchecked'
  /** Whether the response to a delete contains an OperationOutcome, or is 204 without a body. */
  readonly deletes: 'outcome' | 'silent'
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
  labels: 'retained',
  totals: 'on pages',
  writesShow: 'as preferred',
  unknownParameters: 'rejected',
  references: 'checked',
  deletes: 'outcome',
  json: 'any',
  formSearches: 'form and url',
  shownReferences: 'as stored',
  missingParameters: [],
  ignoredParameters: [],
  unstatedTypes: [],
  readOnlyTypes: []
}
