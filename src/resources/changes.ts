import { Failure } from '../envelope/failures.js'
import { namesIn, patched } from '../json-patch.js'
import { same } from '../mappings/kit/element.js'
import { isElement } from '../mappings/kit/path.js'

/** Fields to set, by their simple names; null removes. */
export type Changes = Readonly<Record<string, unknown>>

/**
 * The fields that a PATCH body names, and what they become. The body tells which kind it is, not the header: an array is a
 * JSON Patch (RFC 6902), an object is a merge (RFC 7396).
 * @param shown the resource as the client sees it
 * @throws {Failure} BAD_REQUEST, VALIDATION_ERROR
 */
export function changesOf (body: unknown, shown: Readonly<Record<string, unknown>>): Changes {
  if (Array.isArray(body)) return patchedFields(body, shown)
  if (!isElement(body)) throw new Failure('BAD_REQUEST', { message: 'Send an object with the fields to change, or an array of JSON Patch operations.' })
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, value === null ? null : merged(shown[name], value)]))
}

/**
 * A record that was sent whole after another client had changed it: merged, it would undo that change.
 * @throws {Failure} CONFLICT
 */
export function demandUnchanged (body: unknown, version: string | undefined): void {
  if (!isElement(body) || typeof body.versionId !== 'string' || body.versionId === version) return
  throw new Failure('CONFLICT', { message: 'The record has changed since it was read. Read it again, or send only the fields to change.' })
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

function patchedFields (body: readonly unknown[], before: Readonly<Record<string, unknown>>): Changes {
  const after = patched(body, before)
  if (!isElement(after)) throw new Failure('BAD_REQUEST', { message: 'The result of a JSON Patch must be an object.' })
  const names = namesIn(body).filter(name => Object.hasOwn(before, name) || Object.hasOwn(after, name))
  return Object.fromEntries(names.map(name => [name, after[name] ?? null]))
}
