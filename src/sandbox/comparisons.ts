import { splitUnescaped, unescaped } from '../fhir/search-escaping.js'
import { dateRange, type Range } from './date-range.js'
import { writtenSuffix } from './index-rows.js'
import { invalid } from './outcome.js'
import type { Condition } from './store.js'

/**
 * What a row of the search index must be like; `next to` is the suffix of the rows looked at, when they are not the
 * parameter's own.
 */
export interface RowMatch extends Condition { readonly extraCondition?: string }

const prefixed = /^(eq|ne|gt|lt|ge|le|sa|eb)?(?=[\d.+-])(.*)$/s

const comparisons: Record<string, (range: Range) => RowMatch> = {
  eq: ({ low, high }) => ({ sql: 'low >= ? AND high <= ?', args: [low, high] }),
  ne: ({ low, high }) => ({ sql: '(low < ? OR high > ?)', args: [low, high] }),
  gt: ({ high }) => ({ sql: 'high > ?', args: [high] }),
  lt: ({ low }) => ({ sql: 'low < ?', args: [low] }),
  ge: ({ low }) => ({ sql: 'high >= ?', args: [low] }),
  le: ({ high }) => ({ sql: 'low <= ?', args: [high] }),
  sa: ({ high }) => ({ sql: 'low > ?', args: [high] }),
  eb: ({ low }) => ({ sql: 'high < ?', args: [low] })
}

/** `ge2020-05`, of a time. */
export function dateMatch (text: string): RowMatch {
  const { compare, value } = readPrefix(text)
  const range = dateRange(value)
  if (!range) throw invalid('a date is YYYY, YYYY-MM, YYYY-MM-DD or with a time, after a prefix like ge or none')
  return value.includes('T') ? compare(range) : { ...compare(range), extraCondition: writtenSuffix }
}

/** `5.4`, `gt100`, of a number. */
export function numberMatch (text: string): RowMatch {
  const { compare, value } = readPrefix(text)
  if (!/^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(value)) {
    throw invalid('a number may follow a prefix like ge, and nothing else')
  }
  return compare({ low: Number(value), high: Number(value) })
}

function readPrefix (text: string): { compare: (range: Range) => RowMatch, value: string } {
  const [, prefix = 'eq', value = ''] = prefixed.exec(text) ?? []
  return { compare: comparisons[prefix] as (range: Range) => RowMatch, value }
}

/** `5.4|http://unitsofmeasure.org|mg`, of a quantity. */
export function quantityMatch (text: string): RowMatch {
  const [number, system = '', unit = '', ...more] = splitUnescaped(text, '|').map(unescaped) as [string, ...string[]]
  if (more.length > 0) throw invalid('a quantity is number|system|code')
  const amount = numberMatch(number)
  const parts = [amount, ...named('system', system), ...named('value', unit)]
  return { sql: parts.map(({ sql }) => sql).join(' AND '), args: parts.flatMap(({ args }) => args) }
}

function named (column: 'system' | 'value', text: string): Condition[] {
  return text === '' ? [] : [{ sql: `${column} = ?`, args: [text] }]
}
