import { toSafeName, invalidParameter } from '../../envelope/query.js'
import type { FhirElement } from '../../mappings/fhir.js'
import { isElement } from '../../mappings/core/path.js'
import type { Terminology } from '../../tenant-guard/interaction.js'
import { terminologyOperations, type ParameterForm } from '../../tenant-guard/operations/terminology-operations.js'
import type { FhirRequest } from './fhir-request.js'
import { parseParameters } from './parameters-resource.js'

type ParameterInput = Terminology['parameters'][number]

/**
 * A terminology operation, by its URL or as Parameters: http://hl7.org/fhir/R4/terminology-service.html
 * @throws {Failure} BAD_REQUEST
 */
export function parseTerminologyRequest (request: FhirRequest): Terminology {
  const [type, operation] = request.path as [Terminology['type'], string]
  const { parameters: forms, needed } = terminologyOperations[`${type}/${operation}`]!
  const parameters = (request.method === 'POST' ? parseBodyParameters(request) : parseQueryParameters(request)).map(
    parameter => parseParameter(parameter, forms)
  )
  if (needed !== undefined && !parameters.some(({ name }) => name === needed)) {
    throw invalidParameter(needed, "is required: the canonical URL of a resource that the datastore's operator loaded")
  }
  return { kind: 'terminology', type, operation, parameters }
}

function parseQueryParameters ({ query }: FhirRequest): readonly ParameterInput[] {
  return query.map(([name, value]) => ({ name, value }))
}

function parseBodyParameters ({ query, body }: FhirRequest): readonly ParameterInput[] {
  if (query.length > 0) throw invalidParameter('query', 'must be sent in a Parameters resource in the request body')
  return parseParameters(body)
}

function parseParameter (
  { name, value }: ParameterInput, forms: Readonly<Record<string, ParameterForm>>
): ParameterInput {
  const form = Object.hasOwn(forms, name) ? forms[name] : undefined
  if (form === undefined) {
    throw invalidParameter(toSafeName(name), `not supported by this operation; it takes ${Object.keys(forms).join(', ')}`)
  }
  return { name, value: readers[form](name, value) }
}

type Reader = (name: string, value: ParameterInput['value']) => ParameterInput['value']

const createTextReader = (message: string, pattern: RegExp): Reader => (name, value) => {
  if (typeof value !== 'string' || value.length > maxTextLength || !pattern.test(value)) {
    throw invalidParameter(name, `expected ${message}`)
  }
  return value
}

const maxTextLength = 2_000

/** No text of FHIR holds other control characters. */
const plain = /^(?:[^\p{Cc}]|[\t\n\r])+$/u
const canonical = createTextReader('an absolute URL or URN', /^[A-Za-z][A-Za-z0-9+.-]*:[^\s\p{Cc}]+$/u)

const readers: Readonly<Record<ParameterForm, Reader>> = {
  uri: canonical,
  canonical,
  code: createTextReader('a code', /^[^\s\p{Cc}]+(?: [^\s\p{Cc}]+)*$/u),
  string: createTextReader('text', plain),
  boolean: createTextReader('true or false', /^(?:true|false)$/),
  integer: createTextReader('a whole number of 0 or more', /^\d{1,6}$/),
  dateTime: createTextReader(
    'a date or time',
    /^\d{4}(?:-\d\d(?:-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?)?)?$/
  ),
  Coding: (name, value) => readCoding(name, value),
  CodeableConcept: (name, value) => readCodeableConcept(name, value)
}

const codingMembers: Readonly<Record<string, Reader>> = {
  system: canonical,
  version: createTextReader('text', plain),
  code: createTextReader('a code', plain),
  display: createTextReader('text', plain)
}

/** The parts of a Coding that identify the code. */
function readCoding (name: string, value: unknown): FhirElement {
  if (!isElement(value)) throw invalidParameter(name, 'expected a Coding, in a Parameters resource')
  const members = Object.entries(value).filter(([member]) => member !== 'userSelected' && member !== 'id')
  if (!members.every(([member]) => Object.hasOwn(codingMembers, member))) {
    throw invalidParameter(name, 'expected a Coding with system, version, code and display')
  }
  return Object.fromEntries(
    members.map(([member, item]) => [member, codingMembers[member]!(name, item as ParameterInput['value'])])
  )
}

function readCodeableConcept (name: string, value: unknown): FhirElement {
  const { coding = [], text: words, ...more } = isElement(value) ? value : {}
  if (!isElement(value) || !Array.isArray(coding) || Object.keys(more).some(member => member !== 'id')) {
    throw invalidParameter(name, 'expected a CodeableConcept with coding and text, in a Parameters resource')
  }
  return {
    coding: coding.map(item => readCoding(name, item)),
    ...(words !== undefined && { text: createTextReader('text', plain)(name, words as ParameterInput['value']) })
  }
}
