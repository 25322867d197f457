import { splitUnescaped, unescapeSearchValue } from '../fhir/search-escaping.js'
import { normalizeText, textSuffix, writtenSuffix } from './index-rows.js'
import { invalid } from './outcome.js'
import { readReference } from './references.js'
import { resourceTypes, type Parameter, type ParameterKind } from './search-parameters.js'
import type { Condition } from './store.js'
import { parseDateRange, type Range } from './date-range.js'

/** One search parameter of a request: `birthdate=ge1980` of Patient. */
interface Criterion {
  readonly type: string
  readonly parameter: Parameter
  readonly modifier: string | undefined
  /** With FHIR's escapes: `\,` `\|` `\$` `\\`. */
  readonly value: string
  /** Absolute references to this server begin with it. */
  readonly baseUrl: string
}

/**
 * The condition that a resource meets when it matches the criterion: one of its values matches one of the alternatives.
 * @throws {FhirError} for a modifier or value that the parameter does not support
 */
export function buildCondition (criterion: Criterion): Condition {
  const { parameter, modifier, value, type } = criterion
  const name = `${type}.${parameter.name}`
  if (modifier === 'missing') return buildMissingCondition(name, value)
  const alternatives = splitUnescaped(value, ',')
  if (alternatives.includes('')) throw noValue()
  const matches = matchers[parameter.kind](alternatives, criterion)
  const rows = matches
    .map(({ sql }) => `SELECT pk FROM search_index WHERE parameter = ? AND ${sql}`)
    .join(' UNION ALL ')
  const args = matches.flatMap(({ nameSuffix = '', args }) => [name + nameSuffix, ...args])
  return { sql: `r.pk ${modifier === 'not' ? 'NOT IN' : 'IN'} (${rows})`, args }
}

function buildMissingCondition (name: string, value: string): Condition {
  if (value !== 'true' && value !== 'false') throw invalid(':missing is true or false')
  return {
    sql: `r.pk ${value === 'true' ? 'NOT IN' : 'IN'} (SELECT pk FROM search_index WHERE parameter = ?)`,
    args: [name]
  }
}

type Matcher = (alternatives: readonly string[], criterion: Criterion) => RowMatch[]

const matchers: Record<ParameterKind, Matcher> = {
  date: withoutModifier(matchDate),
  number: withoutModifier(matchNumber),
  quantity: withoutModifier(matchQuantity),
  uri: withoutModifier(text => ({ sql: 'value = ?', args: [unescapeSearchValue(text)] })),
  string: matchString,
  token: matchToken,
  reference: matchReference
}

function withoutModifier (match: (text: string) => RowMatch): Matcher {
  return (alternatives, { modifier }) => {
    if (modifier !== undefined) throw unknownModifier()
    return requireAtMost500(alternatives).map(match)
  }
}

function noValue (): Error {
  return invalid('a search parameter has no value')
}

function unknownModifier (): Error {
  return invalid('a search parameter has a modifier that this server does not know for it')
}

// SQLite joins no more than 500 selections; tokens and references, which may be many, are joined otherwise.
function requireAtMost500<T> (alternatives: readonly T[]): readonly T[] {
  if (alternatives.length > 500) throw invalid('a search parameter has more than 500 values')
  return alternatives
}

const textMatches = new Map<string | undefined, (text: string) => RowMatch>([
  [undefined, matchPrefix],
  ['exact', matchExact],
  ['contains', matchSubstring]
])

function matchString (alternatives: readonly string[], { modifier }: Criterion): RowMatch[] {
  const match = textMatches.get(modifier)
  if (!match) throw unknownModifier()
  return requireAtMost500(alternatives).map(match)
}

function matchPrefix (text: string): RowMatch {
  const prefix = toSearchText(text)
  return { sql: 'value >= ? AND value < ?', args: [prefix, prefix + '\u{10FFFF}'] }
}

function matchExact (text: string): RowMatch {
  const written = unescapeSearchValue(text)
  return { sql: 'value = ? AND system = ?', args: [normalizeText(written), written] }
}

function matchSubstring (text: string): RowMatch {
  return { sql: 'instr(value, ?) > 0', args: [toSearchText(text)] }
}

/** An accent alone would be nothing, and nothing is the beginning of everything. */
function toSearchText (text: string): string {
  const requested = normalizeText(unescapeSearchValue(text))
  if (requested === '') throw noValue()
  return requested
}

/** A value with its system: `undefined` is any, `null` is none. */
interface Coded { readonly system: string | null | undefined, readonly value: string | undefined }

function matchToken (alternatives: readonly string[], { modifier }: Criterion): RowMatch[] {
  if (modifier === 'text') return requireAtMost500(alternatives).map(text => ({ ...matchPrefix(text), nameSuffix: textSuffix }))
  if (modifier !== undefined && modifier !== 'not') throw unknownModifier()
  return matchBySystem(alternatives.map(readToken))
}

function readToken (text: string): Coded {
  const [first, second, ...more] = splitUnescaped(text, '|').map(unescapeSearchValue) as [string, ...string[]]
  if (more.length > 0) throw invalid('a token is system|code')
  if (second === undefined) return { system: undefined, value: first }
  if (first === '' && second === '') throw invalid('a token has neither system nor code')
  return { system: first === '' ? null : first, value: second === '' ? undefined : second }
}

function matchBySystem (coded: readonly Coded[]): RowMatch[] {
  const systems = [...new Set(coded.map(({ system }) => system))]
  return requireAtMost500(systems).flatMap(system => {
    const values = coded.filter(item => item.system === system).map(({ value }) => value)
    const full = system === undefined ? { sql: 'TRUE', args: [] } : { sql: 'system IS ?', args: [system] }
    if (values.includes(undefined)) return [full]
    return [
      { sql: `value IN (SELECT value FROM json_each(?)) AND ${full.sql}`, args: [JSON.stringify(values), ...full.args] }
    ]
  })
}

function matchReference (alternatives: readonly string[], { modifier, baseUrl }: Criterion): RowMatch[] {
  if (modifier !== undefined && !resourceTypes.has(modifier)) throw unknownModifier()
  return matchBySystem(alternatives.map(text => readTarget(unescapeSearchValue(text), baseUrl, modifier)))
}

function readTarget (text: string, baseUrl: string, type: string | undefined): Coded {
  const local = text.startsWith(`${baseUrl}/`) ? text.slice(baseUrl.length + 1) : text
  const read = readReference(local)
  if (read.kind !== 'resource') return { system: type, value: local }
  if (type !== undefined && type !== read.type) throw invalid('a reference has another type than its parameter says')
  return { system: read.type, value: read.id }
}

/**
 * The condition on a row of the search index. `nameSuffix` is the suffix of the name of the searched rows; absent
 * for the parameter's own rows.
 */
interface RowMatch extends Condition { readonly nameSuffix?: string }

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
function matchDate (text: string): RowMatch {
  const { compare, value } = readPrefix(text)
  const range = parseDateRange(value)
  if (!range) throw invalid('a date is YYYY, YYYY-MM, YYYY-MM-DD or with a time, after a prefix like ge or none')
  return value.includes('T') ? compare(range) : { ...compare(range), nameSuffix: writtenSuffix }
}

/** `5.4`, `gt100`, of a number. */
function matchNumber (text: string): RowMatch {
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
function matchQuantity (text: string): RowMatch {
  const [number, system = '', unit = '', ...more] = splitUnescaped(text, '|').map(unescapeSearchValue) as [
    string,
    ...string[]
  ]
  if (more.length > 0) throw invalid('a quantity is number|system|code')
  const amount = matchNumber(number)
  const parts = [amount, ...matchColumn('system', system), ...matchColumn('value', unit)]
  return { sql: parts.map(({ sql }) => sql).join(' AND '), args: parts.flatMap(({ args }) => args) }
}

function matchColumn (column: 'system' | 'value', text: string): Condition[] {
  return text === '' ? [] : [{ sql: `${column} = ?`, args: [text] }]
}
