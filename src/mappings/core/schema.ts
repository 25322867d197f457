/** JSON Schema (2020-12) of a simple value, as ajv checks it and OpenAPI prints it. */
export interface Schema {
  readonly type?: 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array'
  /**
   * The name of a datatype that many fields have, under which the documentation shows it once; a length that it has may
   * stand behind it.
   */
  readonly title?: string
  readonly description?: string
  readonly enum?: readonly string[]
  readonly format?: Format
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly minProperties?: number
  readonly additionalProperties?: false
  readonly dependentRequired?: Readonly<Record<string, readonly string[]>>
  readonly dependentSchemas?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
  readonly not?: Schema
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly readOnly?: boolean
  readonly examples?: readonly unknown[]
  /** The expected value, in words that follow "expected": the client's error message. */
  readonly 'x-expects'?: string
  /** The FHIR types that the id may name; a bare id means the first. */
  readonly 'x-references'?: readonly string[]
  /** The types of the records whose id becomes a reference where else a name stands. */
  readonly 'x-names'?: readonly string[]
  /** The member next to this one that takes the id of a record sent in place of its name. */
  readonly 'x-display-of'?: string
  /** Other spellings accepted on input, with the value of each. */
  readonly 'x-aliases'?: Readonly<Record<string, unknown>>
  /** The form in which the value is read back, where more is accepted or shown than that. */
  readonly 'x-shown'?: Schema
  /** When a response has which of several types. */
  readonly 'x-shown-as'?: string
  /** No record has another code than these, since R4 binds the element so: others can't be searched for. */
  readonly 'x-bound'?: readonly string[]
  /** `start` must not be after `end` (R4 invariant per-1). */
  readonly 'x-ordered'?: true
}

/** Text forms that a pattern cannot say or that a reader should know by name; `formats.ts` checks them. */
export type Format =
  | 'text' | 'date' | 'fhir-dateTime' | 'fhir-instant' | 'fhir-time' | 'uri' | 'uri-reference' | 'base64' | 'npi'
  | 'words' | 'code' | 'instant-or-day' | 'time-of-day'

/** The kinds of search parameter: http://hl7.org/fhir/R4/search.html#ptypes, and the two ends of a range of dates. */
export type FilterKind =
  'string' | 'token' | 'boolean' | 'date' | 'from' | 'until' | 'reference' | 'quantity' | 'uri' | 'number'
