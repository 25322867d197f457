/**
 * JSON as clinical data needs it: number text survives (1.10 is not 1.1), and what a client sends is read strictly.
 * The engine's own parser reads all of it; a number that it would change goes through it as a marked text.
 */
import { randomUUID } from 'node:crypto'
import { visit } from 'jsonc-parser'
import { JsonBudget, JsonSyntaxError, scan, type ExactText } from './scan.js'

export { JsonBudget, JsonSyntaxError, JsonTooLarge } from './scan.js'

/** Nesting that a client's body may have; FHIR R4 resources rarely pass 15. */
export const maxDepth = 64

/** A JSON number whose text a JavaScript number would change: `1.10`, `1e2`, more than 15 digits. */
export class ExactNumber {
  constructor (readonly text: string) {}
  valueOf (): number { return Number(this.text) }
  toString (): string { return this.text }
  /** Makes the engine's printer stop, so that {@link printJson} takes the exact one. */
  toJSON (): never { throw exactNumberMet }
}

/** A JavaScript number, or one that keeps its text. */
export const isNumber = (value: unknown): boolean => typeof value === 'number' || value instanceof ExactNumber

/** A JSON object, as opposed to an array, a number with its text, or anything else. */
export function isJsonObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

const exactNumberMet = new Error('exact number')

/**
 * Reads what a client sent: RFC 8259 strictly, no name twice in one object, no `__proto__`, no NUL or lone surrogate in
 * text, at most {@link maxDepth} deep.
 * @param budget what it may hold; what it holds is taken off
 * @throws {JsonSyntaxError}
 */
export function parseStrict (body: Uint8Array, budget = new JsonBudget()): unknown {
  const text = decode(body)
  if (text.startsWith('\uFEFF')) {
    throw new JsonSyntaxError('the body begins with a byte order mark (EF BB BF); send it without')
  }
  const { depth, members, numbers } = scan(text, budget)
  if (depth > maxDepth) throw new JsonSyntaxError(`nested deeper than ${maxDepth} levels`)
  const value = parseOrRefuse(text, numbers)
  if (numbers.some(number => isOutOfRange(number.text))) {
    throw new JsonSyntaxError('a number is too large, too small or too long')
  }
  if (countMembers(value) < members) throw new JsonSyntaxError('an object has the same name twice')
  return value
}

/** Reads JSON from a backend. Numbers retain their text; of duplicate names the last one counts, as in the engine. */
export function parseStored (text: string): unknown {
  const mayHoldExact = text[0] !== '{' || exactNumberInObject.test(text)
  return mayHoldExact ? parseWithExactNumbers(text, scan(text).numbers) : JSON.parse(text)
}

/** Prints a value that may hold {@link ExactNumber}s, each with its own text. */
export function printJson (value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error !== exactNumberMet) throw error
    return printExact(value)
  }
}

/**
 * The same value with JavaScript numbers, for a validator that knows no others. Returns its argument when nothing
 * changes.
 */
export function toPlainNumbers<T> (value: T): T {
  return mapJson(value, item => item instanceof ExactNumber ? item.valueOf() : item)
}

/**
 * The value with parts of it replaced, at any depth. Returns its argument when nothing changes.
 * @param replace returns the new value, or the same value to continue inside it; `name` is that of the member which
 * holds it, also through lists
 */
export function mapJson<T> (value: T, replace: (item: unknown, name: string) => unknown, name = ''): T {
  const replaced = replace(value, name) as T
  if (replaced !== value || value === null || typeof value !== 'object' || value instanceof ExactNumber) return replaced
  return (Array.isArray(value) ? mapItems(value, replace, name) : mapMembers(value as Members, replace)) as T
}

type Members = Readonly<Record<string, unknown>>

// Every record goes through these several times, so nothing is made for what does not change.

function mapItems (
  items: readonly unknown[],
  replace: (item: unknown, name: string) => unknown,
  name: string
): readonly unknown[] {
  let changed: unknown[] | undefined
  for (let at = 0; at < items.length; at++) {
    const item = mapJson(items[at], replace, name)
    if (item !== items[at]) (changed ??= [...items])[at] = item
  }
  return changed ?? items
}

function mapMembers (members: Members, replace: (item: unknown, name: string) => unknown): Members {
  let changed: Record<string, unknown> | undefined
  for (const name in members) {
    const item = mapJson(members[name], replace, name)
    if (item === members[name]) continue
    changed ??= { ...members }
    // JSON may contain this name, and an assignment would not create a member.
    if (name === '__proto__') Object.defineProperty(changed, name, { value: item })
    else changed[name] = item
  }
  return changed ?? members
}

// Every number that the engine would print differently has one of these forms; the same inside a text only costs time.
// The expression searches for the end of a number and then looks behind it: most digits are inside texts, where such an
// end is rare.
const exactNumberInObject =
  /\d\s*[,\]}](?<=[:[,]\s*(?:-?(?:\d+\.\d*0|\d+(?:\.\d+)?[eE][+-]?\d+|\d[\d.]{15,}|0\.0{6}\d*)|-0)\s*.)/

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode (body: Uint8Array): string {
  try {
    return utf8.decode(body)
  } catch {
    throw new JsonSyntaxError('the body is not valid UTF-8')
  }
}

function parseOrRefuse (text: string, numbers: readonly ExactText[]): unknown {
  try {
    return parseWithExactNumbers(text, numbers)
  } catch {
    throw new JsonSyntaxError(`the body is not JSON${formatErrorPosition(text)}`)
  }
}

/** As the end of a message; empty if it is not found. */
function formatErrorPosition (text: string): string {
  const found = findSyntaxError(text)
  if (found === undefined) return ''
  return `; see ${text.includes('\n') ? `line ${found.line}, ` : ''}column ${found.column}`
}

/** In longer texts a mistake is not looked for, since that takes about as long as parsing them. */
const maxExamined = 1_048_576

const mistakeMet = new Error('mistake')

/** Where a text is not JSON first, each counted from 1; undefined where it is, or is too long to look. */
export function findSyntaxError (text: string): { readonly line: number, readonly column: number } | undefined {
  if (text.length > maxExamined) return undefined
  let found: { line: number, column: number } | undefined
  try {
    visit(text, {
      onError: (_error, _offset, _length, line, column) => {
        found = { line: line + 1, column: column + 1 }
        // What follows may be nested without bounds, if only by another reading of what is no JSON.
        throw mistakeMet
      }
    }, { disallowComments: true, allowTrailingComma: false })
  } catch (error) {
    if (error !== mistakeMet) throw error
  }
  return found
}

/** Digits that a number may have when it is written without an exponent; JavaScript's own have 325 at most. */
const maxDigits = 400

/**
 * Whether the text of a number denotes one that is too large, or too long without its exponent. HAPI writes numbers
 * that way: `1e-1000000000` takes all its memory, and a record that holds it can't be read any more.
 */
export function isOutOfRange (text: string): boolean {
  const [number, full = '', fraction = '', exponent = '0'] =
    /^[-+]?(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$/.exec(text) ?? []
  if (number === undefined) return false
  return full.length + fraction.length + Math.abs(Number(exponent)) > maxDigits || !Number.isFinite(Number(text))
}

// The marker is unknown outside the process, so no text that was sent or stored begins with it.
const marker = randomUUID()

function parseWithExactNumbers (text: string, numbers: readonly ExactText[]): unknown {
  if (numbers.length === 0) return JSON.parse(text)
  let tagged = ''
  let from = 0
  for (const number of numbers) {
    tagged += `${text.slice(from, number.start)}"${marker}${number.text}"`
    from = number.start + number.text.length
  }
  return restoreExactNumbers(JSON.parse(tagged + text.slice(from)))
}

/** The value with its marked texts as numbers, changed in place. */
function restoreExactNumbers (value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(marker) ? new ExactNumber(value.slice(marker.length)) : value
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) value[at] = restoreExactNumbers(value[at])
    return value
  }
  const holder = value as Record<string, unknown>
  for (const key of Object.keys(holder)) {
    if (key.startsWith(marker)) throw new SyntaxError('a number is used as a name')
    const item = holder[key]
    if (typeof item === 'string' || typeof item === 'object') holder[key] = restoreExactNumbers(item)
  }
  return value
}

/**
 * How many members all objects of a value have together. @throws {JsonSyntaxError} for names and texts that no one
 * should send
 */
function countMembers (value: unknown): number {
  if (typeof value === 'string') rejectUnsafeText(value)
  if (value === null || typeof value !== 'object' || value instanceof ExactNumber) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item)
    return count
  }
  for (const name in value) {
    if (name === '__proto__') throw new JsonSyntaxError('the name __proto__ is not allowed')
    rejectUnsafeText(name)
    count += 1 + countMembers((value as Record<string, unknown>)[name])
  }
  return count
}

function rejectUnsafeText (text: string): void {
  if (text.includes('\0')) throw new JsonSyntaxError('text must not contain the character U+0000')
  if (!text.isWellFormed()) throw new JsonSyntaxError('text contains half of a surrogate pair')
}

/** Prints one level here; the engine prints the levels below that hold no such number. */
function printExact (value: unknown): string {
  if (value instanceof ExactNumber) return value.text
  if (Array.isArray(value)) return `[${value.map(item => printJson(item ?? null)).join(',')}]`
  const members = Object.entries(value as object)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => `${JSON.stringify(key)}:${printJson(item)}`)
  return `{${members.join(',')}}`
}
