/**
 * JSON as clinical data needs it: number text survives (1.10 is not 1.1), and what a client sends is read strictly.
 * The parser is `lossless-json`; the engine's own, several times faster, reads stored text that has no such number.
 */
import { parse as parseLossless } from 'lossless-json'

/** Nesting that a client's body may have; FHIR R4 resources rarely pass 15. */
export const maxDepth = 64

/** Thrown for a body that is refused; `reason` is fit to be shown and never repeats what was sent. */
export class JsonRefused extends Error {
  constructor (readonly reason: string) {
    super(reason)
    this.name = 'JsonRefused'
  }
}

/** A JSON number whose text a JavaScript number would change: `1.10`, `1e2`, more than 15 digits. */
export class ExactNumber {
  constructor (readonly text: string) {}
  valueOf (): number { return Number(this.text) }
  toString (): string { return this.text }
  /** Makes the engine's printer stop, so that {@link printJson} takes the exact one. */
  toJSON (): never { throw exactNumberMet }
}

const exactNumberMet = new Error('exact number')

/**
 * Reads what a client sent: RFC 8259 strictly, no key twice with different values, no `__proto__`, no NUL or
 * lone surrogate in text, at most {@link maxDepth} deep.
 * @throws {JsonRefused}
 */
export function parseStrict (body: Uint8Array): unknown {
  const text = decode(body)
  if (deepest(text) > maxDepth) throw new JsonRefused(`nested deeper than ${maxDepth} levels`)
  const value = parseOrRefuse(text)
  refusePoison(value)
  return value
}

/** Reads what a backend stored; the number text is kept, doubled keys are read as the engine reads them: the last counts. */
export function parseStored (text: string): unknown {
  if (!mayHoldExactNumber.test(text)) return JSON.parse(text)
  return parseLossless(text, null, { parseNumber: readNumber, onDuplicateKey: ({ newValue }) => newValue })
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

/** The same value with JavaScript numbers, for a validator that knows no others. Returns its argument when nothing changes. */
export function plainNumbers<T> (value: T): T {
  if (value instanceof ExactNumber) return value.valueOf() as T
  if (Array.isArray(value)) {
    const items = value.map(plainNumbers)
    return items.every((item, i) => item === value[i]) ? value : items as T
  }
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).map(([key, item]) => [key, plainNumbers(item)] as const)
  return entries.every(([key, item]) => item === (value as Record<string, unknown>)[key]) ? value : Object.fromEntries(entries) as T
}

// Every number that the engine would print differently has one of these forms; the same inside a text only costs time. What
// follows the number is looked at too, since the times in every resource's meta would match otherwise.
const mayHoldExactNumber = /[:[,]\s*-?(?:\d+\.\d*0|\d+(?:\.\d+)?[eE][+-]?\d+|\d[\d.]{15,}|0\.0{6}\d*|0(?<=-0))\s*[,\]}]/

function readNumber (text: string): number | ExactNumber {
  const number = Number(text)
  return String(number) === text ? number : new ExactNumber(text)
}

function readNumberStrictly (text: string): number | ExactNumber {
  if (text.length > 64 || !Number.isFinite(Number(text))) throw new JsonRefused('a number is too large or too long')
  return readNumber(text)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode (body: Uint8Array): string {
  try {
    return utf8.decode(body)
  } catch {
    throw new JsonRefused('the body is not valid UTF-8')
  }
}

function parseOrRefuse (text: string): unknown {
  try {
    return parseLossless(text, null, {
      parseNumber: readNumberStrictly,
      onDuplicateKey: () => { throw new JsonRefused('a name stands twice in one object') }
    })
  } catch (error) {
    if (error instanceof JsonRefused) throw error
    throw new JsonRefused('the body is not JSON')
  }
}

function deepest (text: string): number {
  let depth = 0
  let most = 0
  for (const token of text.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{}]/gs)) {
    if (token[0] === '{' || token[0] === '[') most = Math.max(most, ++depth)
    else if (token[0] === '}' || token[0] === ']') depth--
  }
  return most
}

function refusePoison (value: unknown): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) throw new JsonRefused('text must not hold the character U+0000')
    if (!value.isWellFormed()) throw new JsonRefused('text holds half of a surrogate pair')
  } else if (Array.isArray(value)) {
    value.forEach(refusePoison)
  } else if (value !== null && typeof value === 'object' && !(value instanceof ExactNumber)) {
    for (const [key, item] of Object.entries(value)) {
      if (key === '__proto__') throw new JsonRefused('the name __proto__ is not allowed')
      refusePoison(key)
      refusePoison(item)
    }
  }
}

function printExact (value: unknown): string {
  if (value instanceof ExactNumber) return value.text
  if (Array.isArray(value)) return `[${value.map(item => printExact(item ?? null)).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => `${JSON.stringify(key)}:${printExact(item)}`)
  return `{${members.join(',')}}`
}
