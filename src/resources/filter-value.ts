import type { Filter } from '../mappings/kit/filter.js'
import { formats } from '../mappings/kit/formats.js'
import type { SearchParameter } from '../tenant-guard/interaction.js'

/** What is wrong with a filter's value, in words that never repeat it; undefined when it is fine. */
export function valueMistake (filter: Filter, modifier: string | undefined, value: string): string | undefined {
  if (value.trim() === '') return 'expected a value'
  if (modifier === 'text') return undefined
  const mistaken = (each: (part: string) => boolean, says: string) => values(filter, value).every(each) ? undefined : says
  switch (filter.kind) {
    case 'boolean': return mistaken(part => part === 'true' || part === 'false', 'expected true or false')
    case 'date': return mistaken(isDate, 'expected a date such as 2026-03-14 or a time with its zone such as 2026-03-14T09:30:00Z')
    case 'from':
    case 'until': return isDate(value) ? undefined : 'expected one date such as 2026-03-14 or a time with its zone such as 2026-03-14T09:30:00Z'
    case 'reference': return mistaken(part => isId(filter, part), `expected ${filter.types?.[0] === undefined ? 'an id' : `the id of a ${filter.types[0]}`}${hasOthers(filter) ? ', or Type/id' : ''}`)
    case 'quantity':
    case 'number': return mistaken(part => quantityForm.test(part), 'expected a number, with eq, ne, gt, lt, ge or le before it when wanted, and |system|code behind it for a unit')
    default: return undefined
  }
}

/**
 * A filter as FHIR's search parameter: http://hl7.org/fhir/R4/search.html. A comma parts several values, of which any
 * may match; in text it is a comma. What FHIR gives a meaning to (`\ , | $`) is escaped in the values.
 */
export function parameterOf (filter: Filter, modifier: string | undefined, value: string): SearchParameter {
  if (modifier === 'text') return [`${filter.param}:text`, escaped(value)]
  return [filter.param, values(filter, value).map(part => written(filter, part)).join(',')]
}

function written (filter: Filter, part: string): string {
  switch (filter.kind) {
    case 'from': return `ge${part}`
    case 'until': return `le${part}`
    case 'reference': return part.includes('/') || filter.types?.[0] === undefined ? part : `${filter.types[0]}/${part}`
    case 'token': return token(filter, part)
    case 'quantity': return part.split('|').map(escaped).join('|')
    default: return escaped(part)
  }
}

/** `code` or `system|code`: the first bar parts them, any other belongs to the code. */
function token (filter: Filter, part: string): string {
  const alias = filter.aliases?.[part]
  const code = typeof alias === 'string' ? alias : part
  const bar = code.indexOf('|')
  return bar < 0 ? escaped(code) : `${escaped(code.slice(0, bar))}|${escaped(code.slice(bar + 1))}`
}

const escaped = (text: string): string => text.replace(/[\\,|$]/g, '\\$&')

/** The values of a list; text and the ends of a range are one value each. A comma inside a code is sent as `\,`. */
function values ({ kind }: Filter, value: string): string[] {
  if (kind === 'string' || kind === 'uri' || kind === 'from' || kind === 'until') return [value]
  return value.split(/(?<!\\),/).map(part => part.replaceAll('\\,', ','))
}

const isDate = (text: string): boolean => formats['fhir-dateTime'](text)
const hasOthers = ({ types = [] }: Filter): boolean => types.length > 1
const idForm = /^[A-Za-z0-9.-]{1,64}$/
const quantityForm = /^(?:eq|ne|gt|lt|ge|le)?-?\d+(?:\.\d+)?(?:\|[^|]*\|[^|]+)?$/

function isId ({ types = [] }: Filter, part: string): boolean {
  const [type, id, ...more] = part.includes('/') ? part.split('/') : [undefined, part]
  if (more.length > 0 || id === undefined || !idForm.test(id)) return false
  return type === undefined || types.includes(type) || (types.includes('any') && /^[A-Z][A-Za-z]{1,63}$/.test(type))
}
