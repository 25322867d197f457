/**
 * JSON Patch on values whose numbers retain their text. A token of a pointer names an own member of an object or an
 * item of a list and nothing else, so that no pointer leads to the members that JavaScript itself defines on every
 * object, list and text.
 */
import { Failure, fieldIssue } from './failures.js'
import { isJsonObject, isNumber, maxDepth } from '../json/json.js'
import { setOrigins, type ItemOrigin } from '../json/list-origins.js'

const maxOperations = 1000
/** Characters of a path: {@link maxDepth} names of fields take fewer. */
const maxPointer = 10_000
/** Characters that all operations together may copy: each copy can double a value. */
const maxCopied = 1_048_576
/**
 * Items that may change their index in lists because others were inserted or removed before them; a fraction of a
 * second.
 */
const maxShifted = 268_435_456

interface Operation {
  readonly op: keyof typeof apply
  readonly path: string
  readonly from: string
  readonly value: unknown
}

interface Origins { readonly before: readonly unknown[], items?: Array<ItemOrigin | undefined> }

/** The record while it changes, and what its operations have cost so far. */
interface Draft {
  readonly root: unknown
  /** The lists that were there before, with the origins of their items once these are not where they were. */
  readonly lists: Map<readonly unknown[], Origins>
  copied: number
  shifted: number
}

type Holder = Record<string, unknown> | unknown[]

/** Where a pointer leads: the object or list that holds what its last token names. */
interface PointerTarget { readonly holder: Holder, readonly token: string }

/**
 * A JSON value as a JSON Patch leaves it, RFC 6902; the value itself stays unchanged. The lists in the result have
 * their origins.
 * @throws {Failure} BAD_REQUEST for a body that is no patch, VALIDATION_ERROR for one that does not apply to this value
 */
export function applyPatch (body: readonly unknown[], value: unknown): unknown {
  if (body.length > maxOperations || !body.every(isOperation)) {
    throw new Failure('BAD_REQUEST', {
      message: `Each JSON Patch operation needs op (${Object.keys(apply).join(', ')}) and path, and value or from where RFC 6902 requires them. At most ${maxOperations} operations are allowed, and at most ${maxPointer} characters in a path or from.`
    })
  }
  const lists: Draft['lists'] = new Map()
  const root = copyDeep(value, { copied: -Infinity, noteList: (copy, before) => lists.set(copy, { before }) })
  const draft: Draft = { root, lists, copied: 0, shifted: 0 }
  const failed = body.findIndex(operation => !tryApply(draft, operation))
  if (failed >= 0) {
    throw invalidOperation(
      failed,
      'this operation cannot be applied to the current version of the record; read it again and correct the path or the test'
    )
  }
  if (isDeeper(draft.root, maxDepth)) {
    throw invalidOperation(body.length - 1, `the result is nested deeper than ${maxDepth} levels`)
  }
  for (const [list, origins] of lists) setOrigins(list, origins)
  return draft.root
}

/**
 * The members of a value that a patch changes, adds, moves or removes, each once; members that it only tests or copies
 * stay unchanged.
 */
export function listChangedNames (body: readonly unknown[]): readonly string[] {
  const changing = body.filter(isOperation).filter(({ op }) => op !== 'test')
  return [
    ...new Set(
      changing
        .flatMap(({ op, path, from }) => (op === 'move' ? [path, from] : [path]))
        .map(pointer => parsePointer(pointer)[0]!)
    )
  ]
}

function invalidOperation (at: number, message: string): Failure {
  return new Failure('VALIDATION_ERROR', { issues: [fieldIssue(`[${at}]`, message, 'processing')] })
}

function isOperation (item: unknown): item is Operation {
  if (!isJsonObject(item) || typeof item.op !== 'string' || !Object.hasOwn(apply, item.op) || !isPointer(item.path)) {
    return false
  }
  if (item.op === 'move' || item.op === 'copy') return isPointer(item.from)
  return item.op === 'remove' || item.value !== undefined
}

/** RFC 6901, below the root: replacing the whole record is not a patch. */
const isPointer = (text: unknown): boolean =>
  typeof text === 'string' && text.length <= maxPointer && text.startsWith('/') && !/~(?![01])/.test(text)

class Inapplicable extends Error {}

function tryApply (draft: Draft, operation: Operation): boolean {
  try {
    apply[operation.op](draft, operation)
    return draft.copied <= maxCopied && draft.shifted <= maxShifted
  } catch (error) {
    if (error instanceof Inapplicable) return false
    throw error
  }
}

const apply = {
  add: (draft: Draft, { path, value }: Operation) => put(draft, path, { value: copyDeep(value) }),
  remove: (draft: Draft, { path }: Operation) => { take(draft, path) },
  replace: (draft: Draft, { path, value }: Operation) => {
    const { holder, token } = resolveExisting(draft, path)
    if (Array.isArray(holder)) markReplaced(draft, holder, Number(token))
    holder[token as never] = copyDeep(value) as never
  },
  move: (draft: Draft, { from, path }: Operation) => {
    requireApplicable(!path.startsWith(`${from}/`))
    put(draft, path, take(draft, from))
  },
  copy: (draft: Draft, { from, path }: Operation) => put(draft, path, copyFrom(draft, from)),
  // The comparison costs no more than the value in the operation: the first difference ends the patch.
  test: (draft: Draft, { path, value }: Operation) => requireApplicable(isEqual(getValueAt(draft, path), value))
}

/** A value, and of an item the list in which it stood and its origin there. */
interface DetachedValue {
  readonly value: unknown
  readonly list?: readonly unknown[]
  readonly origin?: ItemOrigin | undefined
}

function put (draft: Draft, pointer: string, taken: DetachedValue): void {
  startList(draft, pointer)
  const { holder, token } = resolvePointer(draft, pointer)
  if (Array.isArray(holder)) {
    const at = token === '-' ? holder.length : isIndex(token) ? Number(token) : Infinity
    requireApplicable(at <= holder.length)
    draft.shifted += holder.length - at
    findOrigins(draft, holder)?.splice(at, 0, taken.list === holder ? taken.origin : undefined)
    holder.splice(at, 0, taken.value)
  } else {
    // The one name that is no member when it is set: it would change what the object is.
    requireApplicable(token !== '__proto__')
    holder[token] = taken.value
  }
}

/** The origins of the items of a list, to be changed; undefined for a list that is new. */
function findOrigins ({ lists }: Draft, list: readonly unknown[]): Array<ItemOrigin | undefined> | undefined {
  const origins = lists.get(list)
  return origins && (origins.items ??= list.map((_, index) => ({ index, how: 'same' })))
}

function markReplaced (draft: Draft, list: readonly unknown[], at: number): void {
  const items = findOrigins(draft, list)
  const origin = items?.[at]
  if (origin !== undefined) items![at] = { ...origin, how: 'replaced' }
}

/** FHIR has no empty lists, so an item that is appended to an absent list becomes its first item. */
function startList (draft: Draft, pointer: string): void {
  const list = /^(.+)\/-$/.exec(pointer)?.[1]
  if (list === undefined) return
  const { holder, token } = resolvePointer(draft, list)
  if (!Array.isArray(holder) && !hasMember(holder, token)) put(draft, list, { value: [] })
}

function take (draft: Draft, pointer: string): DetachedValue {
  const { holder, token } = resolveExisting(draft, pointer)
  const value = holder[token as never] as unknown
  if (Array.isArray(holder)) {
    draft.shifted += holder.length - Number(token)
    const [origin] = findOrigins(draft, holder)?.splice(Number(token), 1) ?? []
    holder.splice(Number(token), 1)
    return { value, list: holder, origin }
  }
  delete holder[token]
  return { value }
}

function copyFrom (draft: Draft, pointer: string): DetachedValue {
  const { holder, token } = resolveExisting(draft, pointer)
  const value = copyDeep(holder[token as never], trackCopying(draft))
  if (!Array.isArray(holder)) return { value }
  const origin = findOrigins(draft, holder)?.[Number(token)]
  return { value, list: holder, origin: origin && { ...origin, how: 'copied' } }
}

/** Counts copied characters in the draft, and gives the lists of a copy the origins of the copied lists. */
function trackCopying (draft: Draft): Copying {
  const { lists } = draft
  return {
    get copied () { return draft.copied },
    set copied (count) { draft.copied = count },
    noteList (copy, list) {
      const origins = lists.get(list)
      if (origins !== undefined) lists.set(copy, { ...origins, ...(origins.items && { items: [...origins.items] }) })
    }
  }
}

function getValueAt (draft: Draft, pointer: string): unknown {
  const { holder, token } = resolveExisting(draft, pointer)
  return holder[token as never]
}

/** A pointer to an existing value. */
function resolveExisting (draft: Draft, pointer: string): PointerTarget {
  const target = resolvePointer(draft, pointer)
  requireApplicable(hasMember(target.holder, target.token))
  return target
}

function resolvePointer ({ root }: Draft, pointer: string): PointerTarget {
  const tokens = parsePointer(pointer)
  const last = tokens.pop()!
  const holder = tokens.reduce<unknown>(
    (here, token) => (hasMember(here, token) ? here[token as never] : undefined),
    root
  )
  requireApplicable(isHolder(holder))
  return { holder: holder as Holder, token: last }
}

const parsePointer = (pointer: string): string[] =>
  pointer
    .slice(1)
    .split('/')
    .map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'))

const isHolder = (value: unknown): value is Holder => Array.isArray(value) || isJsonObject(value)

/**
 * Whether a token names something in a value. A text or a number holds nothing, and of a list only its items count.
 */
function hasMember (value: unknown, token: string): value is Holder {
  return isHolder(value) && (isJsonObject(value) || isIndex(token)) && Object.hasOwn(value, token)
}

const isIndex = (token: string): boolean => /^(?:0|[1-9]\d*)$/.test(token)

function requireApplicable (isMet: boolean): void {
  if (!isMet) throw new Inapplicable()
}

interface Copying {
  /** The characters until now. */
  copied: number
  noteList? (copy: readonly unknown[], list: readonly unknown[]): void
}

/** A deep copy that shares no mutable part; its characters are counted while they are copied. */
function copyDeep (value: unknown, count: Copying = { copied: -Infinity }, depth = 1): unknown {
  count.copied += typeof value === 'string' ? value.length + 2 : 1
  requireApplicable(count.copied <= maxCopied)
  if (!isHolder(value)) return value
  requireApplicable(depth <= maxDepth)
  if (Array.isArray(value)) {
    const list = value.map(item => copyDeep(item, count, depth + 1))
    count.noteList?.(list, value)
    return list
  }
  const copy: Record<string, unknown> = { ...value }
  for (const name of Object.keys(copy)) {
    count.copied += name.length + 3
    copy[name] = copyDeep(copy[name], count, depth + 1)
  }
  return copy
}

/** Compares as RFC 6902 does: numbers by their numeric value, so that 1.10 is 1.1. */
function isEqual (a: unknown, b: unknown): boolean {
  if (isNumber(a) && isNumber(b)) return Number(a) === Number(b)
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => isEqual(item, b[at]))
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length && names.every(name => Object.hasOwn(b, name) && isEqual(a[name], b[name]))
  )
}

/** Whether objects and lists nest deeper than so many levels. */
function isDeeper (value: unknown, max: number): boolean {
  return isHolder(value) && (max === 0 || Object.values(value).some(item => isDeeper(item, max - 1)))
}

/** Whether a patch tests stored values: it fails where a value differs, and so reveals the stored one. */
export function hasTest (patch: unknown): boolean {
  return Array.isArray(patch) && patch.some(operation => (operation as { readonly op?: unknown } | null)?.op === 'test')
}
