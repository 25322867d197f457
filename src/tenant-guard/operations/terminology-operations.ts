/** The forms of a parameter; those that are no simple type only come in Parameters. */
export type ParameterForm =
  'uri' | 'canonical' | 'code' | 'string' | 'boolean' | 'integer' | 'dateTime' | 'Coding' | 'CodeableConcept'

/** A terminology operation that a client may request, and its response. */
interface TerminologyOperation {
  readonly resultType: 'Parameters' | 'ValueSet'
  /** Those that are allowed; what names a resource by its content or id, or follows a profile, is not among them. */
  readonly parameters: Readonly<Record<string, ParameterForm>>
  /** One that is required. */
  readonly needed?: string
}

const oneCode = {
  code: 'code',
  system: 'uri',
  version: 'string',
  coding: 'Coding',
  date: 'dateTime',
  displayLanguage: 'code'
} as const
const validated = {
  ...oneCode,
  url: 'uri',
  display: 'string',
  codeableConcept: 'CodeableConcept',
  abstract: 'boolean'
} as const

/** By `Type/$operation`, with their parameters of R4: http://hl7.org/fhir/R4/terminology-service.html */
export const terminologyOperations: Readonly<Record<string, TerminologyOperation>> = {
  'CodeSystem/$lookup': { resultType: 'Parameters', parameters: { ...oneCode, property: 'code' } },
  'CodeSystem/$validate-code': { resultType: 'Parameters', needed: 'url', parameters: validated },
  'CodeSystem/$subsumes': {
    resultType: 'Parameters',
    parameters: { codeA: 'code', codeB: 'code', system: 'uri', version: 'string', codingA: 'Coding', codingB: 'Coding' }
  },
  'ValueSet/$expand': {
    resultType: 'ValueSet',
    needed: 'url',
    parameters: {
      url: 'uri',
      valueSetVersion: 'string',
      filter: 'string',
      date: 'dateTime',
      offset: 'integer',
      count: 'integer',
      includeDesignations: 'boolean',
      designation: 'string',
      includeDefinition: 'boolean',
      activeOnly: 'boolean',
      excludeNested: 'boolean',
      excludeNotForUI: 'boolean',
      excludePostCoordinated: 'boolean',
      displayLanguage: 'code',
      'exclude-system': 'canonical',
      'system-version': 'canonical',
      'check-system-version': 'canonical',
      'force-system-version': 'canonical'
    }
  },
  'ValueSet/$validate-code': {
    resultType: 'Parameters',
    needed: 'url',
    parameters: { ...validated, valueSetVersion: 'string', systemVersion: 'string' }
  },
  'ConceptMap/$translate': {
    resultType: 'Parameters',
    parameters: {
      url: 'uri',
      conceptMapVersion: 'string',
      code: 'code',
      system: 'uri',
      version: 'string',
      source: 'uri',
      coding: 'Coding',
      codeableConcept: 'CodeableConcept',
      target: 'uri',
      targetsystem: 'uri',
      reverse: 'boolean'
    }
  }
}
