import { isValidId, typePattern, withArticle } from '../../fhir/names.js'
import { singleValueKinds, valueForms, type Filter } from '../../mappings/core/filter.js'
import { searchDate } from '../../mappings/core/formats.js'
import { startsWithSpace, spaceError } from '../../envelope/query.js'
import { toTextCode, textSystem } from '../../mappings/datatypes/concept.js'
import { parseLocalReference } from '../../mappings/datatypes/reference.js'
import type { FhirElement } from '../../mappings/fhir.js'
import { isElement, itemsAt } from '../../mappings/core/path.js'
import { escapeSearchValue } from '../../fhir/search-escaping.js'
import type { SearchParameter } from '../../tenant-guard/interaction.js'

/** The error in a filter's value, as a message that never repeats the value; undefined when it is valid. */
export function validateFilterValue (filter: Filter, modifier: string | undefined, value: string): string | undefined {
  const parts = modifier === 'text' ? [value] : splitValues(filter, value)
  if (parts.some(part => part.trim() === '')) {
    return parts.length > 1 ? 'expected a value before and after each comma' : 'expected a value'
  }
  if (parts.some(startsWithSpace)) return spaceError
  if (modifier === 'text') return undefined
  if (filter.byWords && splitWords(value).length > maxWords) return `expected at most ${maxWords} words`
  const validateParts = (each: (part: string) => boolean, message: string) =>
    splitValues(filter, value).every(each) ? undefined : message
  switch (filter.kind) {
    case 'boolean':
      return validateParts(part => part === 'true' || part === 'false', 'expected true or false')
    case 'date':
    case 'from':
    case 'until':
      return searchDate.isValid(value) ? undefined : formatDateError(value)
    case 'reference':
      return validateParts(part => isId(filter, part) || isCanonical(filter, part), formatExpectedId(filter))
    case 'quantity':
    case 'number':
      return validateParts(
        part => quantityForm.test(part),
        'expected a number, optionally with the prefix eq, ne, gt, lt, ge or le, and for a unit followed by |system|code'
      )
    case 'token':
      return validateParts(part => mayBeStored(filter, part), `expected ${filter.codes?.join(', ')}`)
    default:
      return undefined
  }
}

function formatDateError (value: string): string {
  // A plus sign in a query is a space.
  if (/:\d\d(?:\.\d+)? \d\d:\d\d$/.test(value)) return 'write the + before the zone as %2B'
  if (/:60(?:\D|$)/.test(value)) return 'servers cannot search by a leap second; use the second before or after it'
  return 'expected one date such as 2026-03-14 or a time with its zone such as 2026-03-14T09:30:00Z'
}

/**
 * Whether there can be a record with this code: where R4's binding is required, it allows no other. A value with a code
 * system is left to the datastore.
 */
function mayBeStored ({ codes, aliases = {}, paths }: Filter, part: string): boolean {
  return codes === undefined || (paths === undefined && part.includes('|')) || codes.includes(part) || Object.hasOwn(aliases, part)
}

/**
 * A filter as FHIR's search parameters: http://hl7.org/fhir/R4/search.html. A comma separates values, any of which may
 * match; in text it is just a comma. Characters with a meaning in FHIR (`\ , | $`) are escaped in the values.
 */
export function toSearchParameters (filter: Filter, modifier: string | undefined, value: string): SearchParameter[] {
  if (modifier === 'text') return [[`${filter.param}:text`, escapeSearchValue(value)]]
  if (filter.byWords) return toWordParameters(filter, value)
  return [[filter.param, splitValues(filter, value).map(part => toSearchValue(filter, part)).join(',')]]
}

/**
 * One condition for each word, all of which must hold: an element begins with the word, or with words before it up to
 * it, since one element may hold several (`Mary Ann`). FHIR compares only the start of an element.
 */
function toWordParameters ({ param }: Filter, value: string): SearchParameter[] {
  const words = splitWords(value)
  return words.map(({ end }, last) => {
    const ends = words.slice(0, last + 1).map(({ start }) => value.slice(start, end))
    return [param, ends.map(escapeSearchValue).join(',')]
  })
}

const maxWords = 20

const splitWords = (value: string): Array<{ readonly start: number; readonly end: number }> =>
  [...value.matchAll(/\S+/g)].map(({ 0: word, index }) => ({ start: index, end: index + word.length }))

function toSearchValue (filter: Filter, part: string): string {
  switch (filter.kind) {
    case 'from': return `ge${part}`
    case 'until': return `le${part}`
    case 'reference': return isCanonical(filter, part) ? escapeParts(part) : withType(filter, part)
    case 'token': return toTokenValue(filter, part)
    case 'quantity': return escapeParts(part)
    default: return escapeSearchValue(part)
  }
}

/**
 * `code` or `system|code`: the first bar separates them, any other belongs to the code. A bar behind what is no URI may
 * belong to the code too, and text may have a code of its own.
 */
function toTokenValue (filter: Filter, part: string): string {
  if (filter.prefix !== undefined) return filter.prefix + escapeSearchValue(part)
  const code = resolveAlias(filter, part)
  const bar = code.indexOf('|')
  const sent = bar < 0 ? escapeSearchValue(code) : `${escapeSearchValue(code.slice(0, bar))}|${escapeSearchValue(code.slice(bar + 1))}`
  if (filter.codes !== undefined || ofSystem.test(part)) return sent
  const ofText = toTextCode(part)
  const others = [
    ...bar < 0 ? [] : [escapeSearchValue(part)],
    ...ofText === part ? [] : [`${escapeSearchValue(textSystem)}|${escapeSearchValue(ofText)}`]
  ]
  return [sent, ...others].join(',')
}

/** A code with its system, which is a URI. */
const ofSystem = /^[A-Za-z][A-Za-z\d+.-]*:[^\s|]*\|/

/** The code for another spelling, or for a word that represents a coding. */
function resolveAlias ({ aliases = {} }: Filter, part: string): string {
  const alias = Object.hasOwn(aliases, part) ? aliases[part] : part
  return String(isElement(alias) ? alias.code : alias)
}

/** A value in which bars keep their meaning: before the unit of a quantity, before the version of a canonical. */
export const escapeParts = (text: string): string => text.split('|').map(escapeSearchValue).join('|')

/** Whether a record meets a filter that R4 has no search parameter for. */
export function isMet (filter: Filter, value: string, record: FhirElement): boolean {
  const elements = (filter.paths ?? []).flatMap(path => collectValues(record, path.split('.')))
  return splitValues(filter, value).some(part => elements.some(element => matchesElement(filter, part, element)))
}

function collectValues (value: unknown, names: readonly string[]): unknown[] {
  if (Array.isArray(value)) return value.flatMap(item => collectValues(item, names))
  const [name, ...others] = names
  if (name === undefined) return [value]
  return isElement(value) && value[name] !== undefined ? collectValues(value[name], others) : []
}

function matchesElement (filter: Filter, part: string, element: unknown): boolean {
  if (!isElement(element)) return typeof element !== 'object' && String(element) === resolveAlias(filter, part)
  if (filter.kind === 'reference') {
    return withType(filter, part).split(',').includes(parseLocalReference(element.reference) ?? '')
  }
  if (filter.kind === 'string') return foldText(String(element.display ?? '')).startsWith(foldText(part))
  const codings = element.coding === undefined ? [element] : itemsAt(element, 'coding').filter(isElement)
  const code = resolveAlias(filter, part)
  if (codings.some(coding => coding.code === code || `${coding.system}|${coding.code}` === code)) return true
  const words = [element.text, ...codings.map(({ display }) => display)].filter(text => typeof text === 'string')
  return codings.every(coding => coding.code === undefined) && words.some(text => toTextCode(text) === toTextCode(part))
}

/** A text without case and accents, as servers compare texts. */
const foldText = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().trim()

/** The values of a list. A comma inside a code is sent as `\,`, the one escape that the simple form has. */
function splitValues ({ kind }: Filter, value: string): string[] {
  if (singleValueKinds.has(kind)) return [value]
  return value.split(/(?<!\\),/).map(part => part.replaceAll('\\,', ','))
}

const [canonicalForm, quantityForm, typeRegExp] = [valueForms.canonical, valueForms.quantity, typePattern].map(
  form => new RegExp(`^${form}$`)
) as [RegExp, RegExp, RegExp]

/** A bare id as a record of each of the types, since a bare id that was sent may have become one of any of them. */
function withType ({ types = [] }: Filter, part: string): string {
  if (part.includes('/') || types.length === 0 || types.includes('any')) return part
  return types.map(type => `${type}/${part}`).join(',')
}

function formatExpectedId ({ types = [], canonicalOf }: Filter): string {
  const main = types[0] === undefined ? 'expected an id' : `expected the id of ${withArticle(types[0])}`
  return `${main}${types.length > 1 ? ', or Type/id' : ''}${canonicalOf === undefined ? '' : ', or its canonical URL'}`
}

function isCanonical ({ canonicalOf }: Filter, part: string): boolean {
  return canonicalOf !== undefined && canonicalForm.test(part)
}

function isId ({ types = [] }: Filter, part: string): boolean {
  const [type, id, ...more] = part.includes('/') ? part.split('/') : [undefined, part]
  if (more.length > 0 || id === undefined || !isValidId(id)) return false
  return type === undefined || types.includes(type) || (types.includes('any') && typeRegExp.test(type))
}
