import { randomUUID } from 'node:crypto'
import { applyPatch, type Operation } from 'rfc6902'
import { Failure, fieldIssue } from '../envelope/failures.js'
import { ExactNumber, plainNumbers } from '../json.js'
import { same } from '../mappings/kit/element.js'
import { isElement } from '../mappings/kit/path.js'

/** Fields to set, by their simple names; null removes. */
export type Changes = Readonly<Record<string, unknown>>

/**
 * What a PATCH body changes of a resource in its simple form. The body tells which kind it is, not the header: an array
 * is a JSON Patch (RFC 6902), an object is a merge (RFC 7396).
 * @param shown the resource as the client sees it
 * @throws {Failure} BAD_REQUEST, VALIDATION_ERROR
 */
export function changesOf (body: unknown, shown: Readonly<Record<string, unknown>>): Changes {
  if (Array.isArray(body)) return difference(shown, patched(body, shown))
  if (!isElement(body)) throw new Failure('BAD_REQUEST', { message: 'Send an object of the fields to change, or an array of JSON Patch operations.' })
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, value === null ? null : merged(shown[name], value)]))
}

/** RFC 7396 below a field. A code that changes takes its display, text and further codings with it, since they name the old one. */
function merged (before: unknown, change: unknown): unknown {
  if (!isElement(change)) return change
  const known = isElement(before) ? before : {}
  const renamed = change.code !== undefined && !same(change.code, known.code)
  const kept = renamed ? Object.fromEntries(Object.entries(known).filter(([name]) => !['display', 'text', 'codings'].includes(name))) : known
  const members = Object.entries(change).map(([name, value]) => [name, value === null ? undefined : merged(kept[name], value)] as const)
  return Object.fromEntries(Object.entries({ ...kept, ...Object.fromEntries(members) }).filter(([, value]) => value !== undefined))
}

const operations = ['add', 'remove', 'replace', 'move', 'copy', 'test']
const mostOperations = 1000

function patched (body: readonly unknown[], shown: Readonly<Record<string, unknown>>): unknown {
  if (body.length > mostOperations || !body.every(isOperation)) {
    throw new Failure('BAD_REQUEST', { message: `Each JSON Patch operation needs op (${operations.join(', ')}) and path, and value or from where RFC 6902 has them; at most ${mostOperations}.` })
  }
  const copy = withNumbersAsTexts(shown)
  const failed = (body as Operation[]).findIndex(operation => !isApplied(copy, operation))
  if (failed < 0) return withNumbers(copy)
  const name = `[${failed}]`
  const says = 'this operation cannot be applied to the record as it is now; read it again and correct path or test'
  throw new Failure('VALIDATION_ERROR', { issues: [fieldIssue(name, says, 'processing')] })
}

/** Applies one operation to the copy. For a test 1.10 is 1.1, as RFC 6902 has it. */
function isApplied (copy: unknown, operation: Operation): boolean {
  try {
    const [error] = operation.op === 'test'
      ? applyPatch(plainNumbers(withNumbers(copy)), [plainNumbers(operation)])
      : applyPatch(copy, [withNumbersAsTexts(operation)])
    return error === null
  } catch {
    // The library throws for a path that leads below a text or a number.
    return false
  }
}

function isOperation (item: unknown): boolean {
  if (!isElement(item) || typeof item.path !== 'string' || !isPointer(item.path)) return false
  if (!operations.includes(String(item.op))) return false
  if (item.op === 'move' || item.op === 'copy') return typeof item.from === 'string' && isPointer(item.from)
  return item.op === 'remove' || item.value !== undefined
}

/** RFC 6901, below the root: replacing the whole record is not a patch, and no member of the language's own objects is a field. */
const isPointer = (text: string): boolean => text.startsWith('/') && !/(?:^|\/)(?:__proto__|constructor|prototype)(?:\/|$)/.test(text)

function difference (before: Readonly<Record<string, unknown>>, after: unknown): Changes {
  if (!isElement(after)) throw new Failure('BAD_REQUEST', { message: 'A JSON Patch must leave an object.' })
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return Object.fromEntries([...names].filter(name => !same(before[name], after[name])).map(name => [name, after[name] ?? null]))
}

// The library copies objects member by member, which would make an exact number a mere object. So it gets a text, which
// nobody outside can make.
const marker = randomUUID()

function withNumbersAsTexts<T> (value: T): T {
  return value instanceof ExactNumber ? marker + value.text as T : copyOf(value, withNumbersAsTexts)
}

function withNumbers<T> (value: T): T {
  return typeof value === 'string' && value.startsWith(marker) ? new ExactNumber(value.slice(marker.length)) as T : copyOf(value, withNumbers)
}

function copyOf<T> (value: T, copyItem: <I>(item: I) => I): T {
  if (Array.isArray(value)) return value.map(copyItem) as T
  return isElement(value) ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, copyItem(item)])) as T : value
}
