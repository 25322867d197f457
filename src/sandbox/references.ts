import { isValidId } from '../fhir/names.js'
import { ExactNumber, mapJson } from '../json/json.js'
import type { FhirResource } from '../mappings/fhir.js'
import { FhirError } from './outcome.js'
import { resourceTypes } from './search-parameters.js'

/**
 * The target of a reference's text: a resource here, something within its own resource, or nothing that can be
 * followed.
 */
type ReadReference =
  { readonly kind: 'resource'; readonly type: string; readonly id: string } | { readonly kind: 'contained' | 'other' }

/** Reads the text of a reference: `Type/id`, with or without a version, `#contained`, or anything else. */
export function readReference (text: string): ReadReference {
  if (text.startsWith('#')) return { kind: 'contained' }
  const [type, id, history, version, ...more] = text.split('/') as [string, string?, string?, string?, ...string[]]
  const isVersioned = history === '_history' && version !== undefined && more.length === 0
  if (!resourceTypes.has(type) || !isValidId(id ?? '') || !(history === undefined || isVersioned)) {
    return { kind: 'other' }
  }
  return { kind: 'resource', type, id: id as string }
}

/** A resource of this server that another one points to. */
interface Link { readonly type: string, readonly id: string }

/**
 * The resources that a resource points to. What a stored Bundle and `contained` hold is another resource's own affair.
 * @throws {FhirError} for a reference that this server could not resolve.
 */
export function collectLinks (resource: FhirResource): Link[] {
  const found = new Map<string, Link>()
  for (const text of findReferenceTexts(resource)) {
    const read = readReference(text)
    if (read.kind === 'other') {
      throw new FhirError(400, 'processing', 'a reference must be Type/id of a resource in this store, or #id')
    }
    if (read.kind === 'resource') found.set(`${read.type}/${read.id}`, { type: read.type, id: read.id })
  }
  return [...found.values()]
}

/** @param name the element that the value is, or is an item of */
function * findReferenceTexts (value: unknown, name = ''): Generator<string> {
  if (value === null || typeof value !== 'object' || value instanceof ExactNumber) return
  for (const [key, item] of Object.entries(value)) {
    if (key === 'reference' && typeof item === 'string') {
      if (!hasUriReference(value, name)) yield item
    } else if (!isResource(item)) yield * findReferenceTexts(item, Array.isArray(value) ? name : key)
  }
}

/** Whether a `reference` is a uri: of a DetectedIssue, of an education, or of an Expression, which has a language. */
function hasUriReference (holder: object, name: string): boolean {
  return isResource(holder) || 'language' in holder || name === 'education'
}

function isResource (value: unknown): boolean {
  return value !== null && typeof value === 'object' && 'resourceType' in value
}

/**
 * The same value with every reference that is a key of `replacements` replaced: a Bundle's `urn:uuid:` by the id that
 * its entry got. As HAPI does, it leaves alone what only has the same text.
 */
export function replaceReferences<T> (value: T, replacements: ReadonlyMap<string, string>): T {
  return mapJson(value, (item, name) =>
    name === 'reference' && typeof item === 'string' ? replacements.get(item) ?? item : item
  )
}
