import { Failure, fieldIssue, type Issue } from '../../envelope/failures.js'
import { listChangedNames, applyPatch } from '../../envelope/json-patch.js'
import { deepEqual } from '../../mappings/core/element.js'
import { isElement } from '../../mappings/core/path.js'

/** Fields to set, by their simple names; null removes. */
type Changes = Readonly<Record<string, unknown>>

/**
 * The fields that a PATCH body names, and their new values. The body decides which kind it is, not the header: an array
 * is a JSON Patch (RFC 6902), an object is a merge (RFC 7396).
 * @param current the resource as the client sees it
 * @throws {Failure} BAD_REQUEST, VALIDATION_ERROR
 */
export function parseChanges (body: unknown, current: Readonly<Record<string, unknown>>): Changes {
  if (Array.isArray(body)) return computePatchedFields(body, current)
  if (!isElement(body)) {
    throw new Failure('BAD_REQUEST', {
      message: 'Send an object with the fields to change, or an array of JSON Patch operations.'
    })
  }
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, value === null ? null : applyMergePatch(current[name], value)])
  )
}

/**
 * The same changes with null for a field, and nothing for a member, in which they left an object empty, since FHIR has
 * no empty objects. An empty object that was sent in place of something else, such as a text, remains an error.
 */
export function withoutClearedFields (changes: Changes, body: unknown, current: Changes): Changes {
  const sent = isElement(body) ? body : {}
  return Object.fromEntries(
    Object.entries(changes).map(([name, value]) => [name, removeEmptyParts(value, current[name], sent[name]) ?? null])
  )
}

function removeEmptyParts (value: unknown, current: unknown, sent: unknown): unknown {
  const isCleared = current === undefined && isElement(sent) && Object.keys(sent).length > 0
  if (!isElement(value) || !(isCleared || isElement(current))) return value
  const [before, change] = [current, sent].map(part => isElement(part) ? part : {}) as [Changes, Changes]
  const members = Object.entries(value)
    .map(([name, member]) => [name, removeEmptyParts(member, before[name], change[name])] as const)
    .filter(([, member]) => member !== undefined)
  return members.length === 0 ? undefined : Object.fromEntries(members)
}

/**
 * Refuses a complete record that was sent after another client had changed it: merged, it would undo that change.
 * @throws {Failure} CONFLICT
 */
export function requireUnchanged (body: unknown, version: string | undefined): void {
  if (!isElement(body) || typeof body.versionId !== 'string' || body.versionId === version) return
  throw new Failure('CONFLICT', {
    message: 'The record has changed since it was read. Read it again, or send only the fields to change.'
  })
}

/** RFC 7396 below a field, except that the names of an old code or unit are removed with it. */
function applyMergePatch (before: unknown, change: unknown): unknown {
  if (!isElement(change)) return change
  const known = isElement(before) ? before : {}
  const outdated = listOutdatedNames(known, change)
  const stored = Object.fromEntries(Object.entries(known).filter(([name]) => !outdated.includes(name)))
  const members = Object.entries(change).map(
    ([name, value]) => [name, value === null ? undefined : applyMergePatch(stored[name], value)] as const
  )
  return Object.fromEntries(
    Object.entries({ ...stored, ...Object.fromEntries(members) }).filter(([, value]) => value !== undefined)
  )
}

/**
 * The text of a code, and of a quantity the code next to its unit or the unit next to its code: unchanged, they would
 * describe another code or unit.
 */
function listOutdatedNames (known: Changes, change: Changes): readonly string[] {
  const isReplaced = (name: string): boolean =>
    known[name] !== undefined &&
    change[name] !== undefined &&
    change[name] !== null &&
    !deepEqual(change[name], known[name])
  const codes = change.code !== undefined && !deepEqual(change.code, known.code) ? ['display', 'text', 'codings'] : []
  if (isReplaced('code')) return [...codes, 'unit']
  if (isReplaced('display') && known.text === known.display) return [...codes, 'text']
  return isReplaced('unit') && change.code === undefined ? ['system', 'code'] : codes
}

/**
 * A warning for each name of an old code or unit that a JSON Patch left next to a new one: RFC 6902 changes only what a
 * patch names, where a merge removes it.
 * @param changed the fields that the patch changed, with their new values
 */
export function buildStaleNameWarnings (body: unknown, current: Changes, changed: Changes): Issue[] {
  if (!Array.isArray(body)) return []
  const written = body.flatMap(({ op, path }) => op === 'test' || op === 'remove' ? [] : [String(path)])
  const isWritten = (pointer: string): boolean =>
    written.some(path => pointer === path || pointer.startsWith(`${path}/`))
  return Object.entries(changed)
    .flatMap(([name, value]) =>
      findStaleNames({ before: current[name], after: value, path: name, pointer: `/${name}` })
    )
    .filter(({ pointer }) => !isWritten(pointer))
    .map(({ path }) => ({
      ...fieldIssue(path, 'names what was there before; the patch left it next to what is new', 'informational'),
      severity: 'warning'
    }))
}

/** A place of a record before and after a change, as a path of errors and as a JSON Pointer. */
interface FieldPath { readonly path: string, readonly pointer: string }

function findStaleNames (
  { before, after, path, pointer }: FieldPath & { readonly before: unknown, readonly after: unknown }
): readonly FieldPath[] {
  if (Array.isArray(before) && Array.isArray(after)) {
    // Which item is which is clear only where none was added or removed.
    if (before.length !== after.length) return []
    return before.flatMap((item, at) =>
      findStaleNames({ before: item, after: after[at], path: `${path}[${at}]`, pointer: `${pointer}/${at}` })
    )
  }
  if (!isElement(before) || !isElement(after)) return []
  const isChanged = (name: string): boolean => !deepEqual(after[name], before[name])
  const change = Object.fromEntries(Object.entries(after).filter(([name]) => isChanged(name)))
  // A text that repeats the display follows it, and a system has units and codes besides the old one.
  const stale = listOutdatedNames(before, change)
    .filter(name => typeof after[name] === 'string' && !isChanged(name) && name !== 'system')
    .filter(name => name !== 'text' || (after.text !== after.display && !isChanged('display')))
  return [
    ...stale.map(name => ({ path: `${path}.${name}`, pointer: `${pointer}/${name}` })),
    ...Object.entries(after).flatMap(([name, value]) =>
      findStaleNames({ before: before[name], after: value, path: `${path}.${name}`, pointer: `${pointer}/${name}` }))
  ]
}

function computePatchedFields (body: readonly unknown[], before: Readonly<Record<string, unknown>>): Changes {
  const after = applyPatch(body, before)
  if (!isElement(after)) throw new Failure('BAD_REQUEST', { message: 'The result of a JSON Patch must be an object.' })
  const names = listChangedNames(body).filter(name => Object.hasOwn(before, name) || Object.hasOwn(after, name))
  return Object.fromEntries(names.map(name => [name, after[name] ?? null]))
}
