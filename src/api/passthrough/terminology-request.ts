import { safeName, invalidParameter } from '../../envelope/query.js'
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
export function terminology (request: FhirRequest): Terminology {
  const [type, operation] = request.path as [Terminology['type'], string]
  const { parameters: forms, needed } = terminologyOperations[`${type}/${operation}`]!
  const parameters = (request.method === 'POST' ? parseBodyParameter(request) : parseQueryParameter(request)).map(
    parameter => read(parameter, forms)
  )
  if (needed !== undefined && !parameters.some(({ name }) => name === needed)) {
    throw invalidParameter(needed, "is required: the canonical URL of a resource that the datastore's operator loaded")
  }
  return { kind: 'terminology', type, operation, parameters }
}

function parseQueryParameter ({ query }: FhirRequest): readonly ParameterInput[] {
  return query.map(([name, value]) => ({ name, value }))
}

function parseBodyParameter ({ query, body }: FhirRequest): readonly ParameterInput[] {
  if (query.length > 0) throw invalidParameter('query', 'must be sent in a Parameters resource in the request body')
  return parseParameters(body)
}

function read ({ name, value }: ParameterInput, forms: Readonly<Record<string, ParameterForm>>): ParameterInput {
  const form = Object.hasOwn(forms, name) ? forms[name] : undefined
  if (form === undefined) {
    throw invalidParameter(safeName(name), `not supported by this operation; it takes ${Object.keys(forms).join(', ')}`)
  }
  return { name, value: readers[form](name, value) }
}

type Reader = (name: string, value: ParameterInput['value']) => ParameterInput['value']

const text = (message: string, pattern: RegExp): Reader => (name, value) => {
  if (typeof value !== 'string' || value.length > max || !pattern.test(value)) {
    throw invalidParameter(name, `expected ${message}`)
  }
  return value
}

const max = 2_000

/** No text of FHIR holds other control characters. */
const plain = /^(?:[^\p{Cc}]|[\t\n\r])+$/u
const canonical = text('an absolute URL or URN', /^[A-Za-z][A-Za-z0-9+.-]*:[^\s\p{Cc}]+$/u)

const readers: Readonly<Record<ParameterForm, Reader>> = {
  uri: canonical,
  canonical,
  code: text('a code', /^[^\s\p{Cc}]+(?: [^\s\p{Cc}]+)*$/u),
  string: text('text', plain),
  boolean: text('true or false', /^(?:true|false)$/),
  integer: text('a whole number of 0 or more', /^\d{1,6}$/),
  dateTime: text(
    'a date or time',
    /^\d{4}(?:-\d\d(?:-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?)?)?$/
  ),
  Coding: (name, value) => codingOf(name, value),
  CodeableConcept: (name, value) => conceptOf(name, value)
}

const codingMembers: Readonly<Record<string, Reader>> = {
  system: canonical,
  version: text('text', plain),
  code: text('a code', plain),
  display: text('text', plain)
}

/** The parts of a Coding that identify the code. */
function codingOf (name: string, value: unknown): FhirElement {
  if (!isElement(value)) throw invalidParameter(name, 'expected a Coding, in a Parameters resource')
  const members = Object.entries(value).filter(([member]) => member !== 'userSelected' && member !== 'id')
  if (!members.every(([member]) => Object.hasOwn(codingMembers, member))) {
    throw invalidParameter(name, 'expected a Coding with system, version, code and display')
  }
  return Object.fromEntries(
    members.map(([member, item]) => [member, codingMembers[member]!(name, item as ParameterInput['value'])])
  )
}

function conceptOf (name: string, value: unknown): FhirElement {
  const { coding = [], text: words, ...more } = isElement(value) ? value : {}
  if (!isElement(value) || !Array.isArray(coding) || Object.keys(more).some(member => member !== 'id')) {
    throw invalidParameter(name, 'expected a CodeableConcept with coding and text, in a Parameters resource')
  }
  return {
    coding: coding.map(item => codingOf(name, item)),
    ...(words !== undefined && { text: text('text', plain)(name, words as ParameterInput['value']) })
  }
}
