import { parameterOf } from '../mappings/r4/search-parameters.js'
import { splitUnescaped } from '../fhir/search-escaping.js'
import type { SearchParameter } from './interaction.js'

/**
 * A condition with years and months after `ge` and `le` as their first and last day. HAPI takes `ge2024` for what
 * reaches the end of 2024 and `le2024` for what begins with it, so that most of that year would be missing.
 */
export function expandPartialDates (type: string, [name, value]: SearchParameter): SearchParameter {
  const [plain = '', modifier] = name.split(':')
  const { kind, parts } = parameterOf(type, plain) ?? {}
  const kinds = kind === 'composite' ? parts : [kind]
  if (modifier !== undefined || kinds?.includes('date') !== true) return [name, value]
  const dated = (one: string): string =>
    splitUnescaped(one, '$')
      .map((part, at) => (kinds[at] === 'date' ? dayOf(part) : part))
      .join('$')
  return [name, splitUnescaped(value, ',').map(dated).join(',')]
}

/** `ge2024-01-01` for `ge2024`, `le2024-06-30` for `le2024-06`. */
function dayOf (text: string): string {
  const [, prefix, year = '', month] = /^(ge|le)(\d{4})(?:-(0[1-9]|1[0-2]))?$/.exec(text) ?? []
  if (prefix === 'ge') return `ge${year}-${month ?? '01'}-01`
  return prefix === 'le' ? `le${year}-${month ?? '12'}-${lastDay(Number(year), Number(month ?? 12))}` : text
}

/** The calendar is the same every 400 years, and of a year before 100 JavaScript would make another one. */
function lastDay (year: number, month: number): number {
  return new Date(Date.UTC(2_000 + year % 400, month, 0)).getUTCDate()
}
