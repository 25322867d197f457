/** How a client would search for a stored resource, derived from R4's definitions and not from the mapping. */
import { toPlainNumbers } from '../../src/json/json.js'
import type { FhirElement, FhirResource } from '../../src/mappings/fhir.js'
import type { Filter } from '../../src/mappings/core/filter.js'
import { isElement } from '../../src/mappings/core/path.js'
import { getSearchParameters } from '../../src/sandbox/search-parameters.js'

/** Values of a filter that find the resource; none when it has no value for the filter. */
export function listMatchingValues (resource: FhirResource, filter: Filter): string[] {
  return listElements(resource, filter)
    .flatMap(element => valueListers[filter.kind](element, filter))
    .filter(value => filter.hasText || isPlain(value))
}

/** Words by which `<filter>:text` finds the resource. */
export function listMatchingWords (resource: FhirResource, filter: Filter): string[] {
  return listElements(resource, filter).filter(isElement)
    .flatMap(({ text, coding }) => [text, ...listOf(coding).map(({ display }) => display)])
    .filter(words => typeof words === 'string' && isPlain(words)) as string[]
}

/** Whether a filter searches an open period of the resource, which matches every later moment. */
export function isOpenEnded (resource: FhirResource, filter: Filter): boolean {
  return listElements(resource, filter).some(element => isElement(element) && element.end === undefined)
}

/** A well-formed value of a filter that matches nothing but {@link isOpenEnded} periods. */
export function getNonMatchingValue ({ kind, types = [], canonicalOf, codes }: Filter): string | undefined {
  if (kind === 'reference') {
    return canonicalOf === undefined && types.length === 1
      ? 'no-such-id'
      : `${canonicalOf ?? types.find(type => type !== 'any') ?? 'Patient'}/no-such-id`
  }
  return {
    string: 'Nobody',
    token: codes === undefined ? 'no-such-code' : undefined,
    date: '1801-01-01',
    from: '2999-12-31',
    until: '1801-01-01',
    quantity: '987654.25',
    number: '987654',
    uri: 'urn:no-such',
    boolean: undefined
  }[kind]
}

/** The values of a filter in a resource. */
export const listElements = (resource: FhirResource, { param, paths }: Filter): readonly unknown[] =>
  paths?.flatMap(path => listElementsAt(toPlainNumbers(resource), path.split('.'))) ?? getSearchParameters(resource.resourceType).get(param)?.values(toPlainNumbers(resource)) ?? []

function listElementsAt (value: unknown, names: readonly string[]): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap(item => listElementsAt(item, names))
  const [name, ...others] = names
  if (name === undefined) return value === undefined ? [] : [value]
  return isElement(value) ? listElementsAt(value[name], others) : []
}

type ValueLister = (element: unknown, filter: Filter) => string[]

const listTimes: ValueLister = element => {
  if (typeof element === 'string') return /^\d{4}/.test(element) ? [element] : []
  return isElement(element)
    ? ([element.start, ...listOf(element.event)].filter(time => typeof time === 'string') as string[])
    : []
}

const valueListers: Readonly<Record<Filter['kind'], ValueLister>> = {
  string: element => typeof element === 'string' ? [element] : isElement(element) ? listTexts(element) : [],
  token: (element, { prefix }) => listCodes(element).flatMap(({ system, code }) => {
    const token = `${system}|${code}`
    if (prefix !== undefined) return token.startsWith(prefix) ? [token.slice(prefix.length)] : []
    return [code, ...system === undefined ? [] : [`${system}|${code}`]]
  }).map(escapeCommas),
  boolean: element => typeof element === 'boolean' ? [String(element)] : [],
  date: element => typeof element === 'string' ? [element] : [],
  from: listTimes,
  until: listTimes,
  reference (element, { types = [] }) {
    if (typeof element === 'string') return [element]
    const reference = isElement(element) && typeof element.reference === 'string' ? element.reference : undefined
    if (reference === undefined || !/^[A-Z]\w+\/[^/]+$/.test(reference)) return []
    const [type, id] = reference.split('/') as [string, string]
    if (types[0] === type) return [id, reference]
    return types.includes(type) || types.includes('any') ? [reference] : []
  },
  quantity: element => isElement(element) && typeof element.value === 'number' ? [`${element.value}`] : [],
  number: element => typeof element === 'number' ? [`${element}`] : [],
  uri: element => typeof element === 'string' ? [element] : []
}

/** The system of the codings that represent text. */
const ofText = 'urn:clinigate:text'

interface Code { readonly system?: unknown, readonly code: string }

/** Of a code, Coding, CodeableConcept, Identifier or ContactPoint. */
function listCodes (element: unknown): Code[] {
  if (typeof element === 'string' || typeof element === 'boolean') return [{ code: String(element) }]
  if (!isElement(element)) return []
  if (element.coding !== undefined || element.text !== undefined) {
    const codings = listOf(element.coding).filter(({ system }) => system !== ofText)
    const codes = codings.filter(({ code }) => code !== undefined).flatMap(listCodes)
    const words = [element.text, ...codings.map(({ display }) => display)].filter(text => typeof text === 'string')
    return codes.length > 0 ? codes : words.map(code => ({ code }))
  }
  // A coding that has only text is found by it.
  if (element.system === ofText) return [{ code: String(element.display) }]
  const code = element.code ?? element.value ?? (element.system === undefined ? element.display : undefined)
  // The system of a ContactPoint is no URI, and no part of its token.
  return typeof code === 'string'
    ? [{ system: /:/.test(String(element.system)) ? element.system : undefined, code }]
    : []
}

const listTexts = (element: FhirElement): string[] => Object.entries(element)
  .filter(([name]) => ['family', 'given', 'text', 'display', 'line', 'city', 'state', 'postalCode', 'country'].includes(name))
  .flatMap(([, value]) => listOf(value ?? []).filter(text => typeof text === 'string') as unknown as string[])

const listOf = (value: unknown): readonly FhirElement[] => (value === undefined ? [] : [value].flat()) as FhirElement[]

export const escapeCommas = (code: string): string => code.replaceAll(',', '\\,')

/** HAPI finds no text with a backslash, and none that its index truncates or reads as empty. */
export const isPlain = (text: string): boolean =>
  /^[\x20-\x7e]{1,150}$/.test(text) && !/\\(?!,)/.test(text) && /\w/.test(text) && text === text.trim()
