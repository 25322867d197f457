import { Failure } from '../envelope/failures.js'
import { patched } from '../json-patch.js'
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
  if (!isElement(body)) throw new Failure('BAD_REQUEST', { message: 'Send an object with the fields to change, or an array of JSON Patch operations.' })
  const merge = Object.entries(body).map(([name, value]) => [name, value === null ? null : merged(shown[name], value)] as const)
  // What is sent as it is shown is no change: so a record that was read can be sent back whole, with what is read-only.
  return Object.fromEntries(merge.filter(([name, value]) => !same(value, shown[name])))
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

function difference (before: Readonly<Record<string, unknown>>, after: unknown): Changes {
  if (!isElement(after)) throw new Failure('BAD_REQUEST', { message: 'The result of a JSON Patch must be an object.' })
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return Object.fromEntries([...names].filter(name => !same(before[name], after[name])).map(name => [name, after[name] ?? null]))
}
