/** JSON Patch on values whose numbers keep their text. */
import { randomUUID } from 'node:crypto'
import { applyPatch, Pointer, type Operation } from 'rfc6902'
import { Failure, fieldIssue } from './envelope/failures.js'
import { ExactNumber, plainNumbers } from './json.js'
import { isElement } from './mappings/kit/path.js'

const operations = ['add', 'remove', 'replace', 'move', 'copy', 'test']
const mostOperations = 1000
/** Characters that all operations together may copy: each copy can double a value. */
const mostCopied = 1_048_576

/**
 * A JSON value as a JSON Patch leaves it, RFC 6902; the value itself stays as it is.
 * @throws {Failure} BAD_REQUEST for what is no patch, VALIDATION_ERROR for one that cannot be applied to this value
 */
export function patched (body: readonly unknown[], value: unknown): unknown {
  if (body.length > mostOperations || !body.every(isOperation)) {
    throw new Failure('BAD_REQUEST', { message: `Each JSON Patch operation needs op (${operations.join(', ')}) and path, and value or from where RFC 6902 has them; at most ${mostOperations}.` })
  }
  const copy = withNumbersAsTexts(value)
  let copied = 0
  const failed = (body as Operation[]).findIndex(operation => {
    copied += copiedBy(operation, copy)
    return copied > mostCopied || !isApplied(copy, operation)
  })
  if (failed < 0) return withNumbers(copy)
  const name = `[${failed}]`
  const says = 'this operation cannot be applied to the record as it is now; read it again and correct path or test'
  throw new Failure('VALIDATION_ERROR', { issues: [fieldIssue(name, says, 'processing')] })
}

function copiedBy (operation: Operation, value: unknown): number {
  return operation.op === 'copy' ? JSON.stringify(Pointer.fromJSON(operation.from).get(value))?.length ?? 0 : 0
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
