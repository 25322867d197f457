import { isJsonObject } from '../../json/json.js'
import type { FhirElement } from '../fhir.js'

/** The value at a path of single elements; undefined if there is none. */
export function getAt (holder: FhirElement, path: string): unknown {
  return path.includes('.') ? getAtNames(holder, splitPath(path)) : holder[path]
}

/** Finds what stands at one path of single elements, in many holders. */
export function createFinder (path: string): (holder: FhirElement) => unknown {
  if (!path.includes('.')) return holder => holder[path]
  const names = splitPath(path)
  return holder => getAtNames(holder, names)
}

function getAtNames (holder: FhirElement, names: readonly string[]): unknown {
  let here: unknown = holder
  for (const name of names) {
    if (!isElement(here)) return undefined
    here = here[name]
  }
  return here
}

// Paths are declared, never made from what a client sends, so there are only so many; each is split once.
const splitPaths = new Map<string, readonly string[]>()

function splitPath (path: string): readonly string[] {
  const known = splitPaths.get(path)
  if (known !== undefined) return known
  const names = path.split('.')
  splitPaths.set(path, names)
  return names
}

/** The text at a path of single elements; empty where there is none, or something else. */
export function textAt (holder: FhirElement, path: string): string {
  const found = getAt(holder, path)
  return typeof found === 'string' ? found : ''
}

/**
 * The holder with another value at the path; elements on the way are created, and removed when nothing is left in them.
 */
export function withAt (holder: FhirElement, path: string, value: unknown): FhirElement {
  const dot = path.indexOf('.')
  if (dot < 0) return withMember(holder, path, value)
  const name = path.slice(0, dot)
  const before = holder[name]
  const after = withAt(isElement(before) ? before : {}, path.slice(dot + 1), value)
  return withMember(holder, name, Object.keys(after).length === 0 ? undefined : after)
}

/** The holder with one member set, or removed by undefined; the same object when nothing changes. */
export function withMember (holder: FhirElement, name: string, value: unknown): FhirElement {
  if (holder[name] === value) return holder
  if (value === undefined) {
    const { [name]: _, ...rest } = holder
    return rest
  }
  // A member named in the literal itself takes twice as long.
  const after: Record<string, unknown> = { ...holder }
  after[name] = value
  return after
}

/** A JSON object, which any element of R4 that is no primitive is. */
export const isElement: (value: unknown) => value is FhirElement = isJsonObject

/** A list of JSON objects alone. */
export function isElementArray (value: unknown): value is readonly FhirElement[] {
  return Array.isArray(value) && value.every(isElement)
}

/** The items of a list element; a single value or nothing is read as no list, since R4 does not mix them. */
export function itemsAt (holder: FhirElement, path: string): readonly unknown[] {
  return toItems(getAt(holder, path))
}

/** The items of an element that may be a list; none of anything else. */
export const toItems = (value: unknown): readonly unknown[] => Array.isArray(value) ? value : none

const none: readonly unknown[] = Object.freeze([])
