import { Failure, fieldIssue, maxIssues } from '../envelope/failures.js'
import { isValidId } from '../fhir/names.js'
import type { FhirElement } from '../mappings/fhir.js'
import type { Mapping } from '../mappings/core/mapping.js'
import { isElement, withMember } from '../mappings/core/path.js'
import type { TenantStore } from '../tenant-guard/guard.js'
import { ReferenceFailure, listReferences } from '../tenant-guard/writes/references.js'
import { resolveBareIds, resolveNames } from './bare-ids.js'

type Fields = Readonly<Record<string, unknown>>

/**
 * The fields with each id of a definition that is referred to by its URL replaced by that URL. An id that is not found
 * stays unchanged, and is refused with the other references.
 */
export async function resolveCanonicals (mapping: Mapping, store: TenantStore, fields: Fields): Promise<Fields> {
  const found = await Promise.all(Object.entries(fields).flatMap(([name, value]) => {
    const canonicalOf = mapping.fields[name]?.options.canonicalOf
    if (typeof value !== 'string' || canonicalOf === undefined) return []
    return [fetchCanonicalUrl(store, canonicalOf, value).then(url => [name, url ?? value] as const)]
  }))
  return found.length === 0 ? fields : { ...fields, ...Object.fromEntries(found) }
}

/** The fields with ids in the place of URLs of definitions, and of names, replaced by what they lead to. */
export async function resolveIds (mapping: Mapping, store: TenantStore, fields: Fields): Promise<Fields> {
  return await resolveNames(mapping, store, await resolveCanonicals(mapping, store, fields))
}

/**
 * The URL of the tenant's definition with this id; undefined when the text is no id, and for a definition that is
 * unknown, has no URL, or is of a type that the key may not look up.
 */
export async function fetchCanonicalUrl (store: TenantStore, type: string, text: string): Promise<string | undefined> {
  const id = text.startsWith(`${type}/`) ? text.slice(type.length + 1) : text
  if (!isValidId(id) || !store.mayReferTo(type)) return undefined
  try {
    const { url } = await store.read({ kind: 'read', type, id })
    return typeof url === 'string' ? url : undefined
  } catch (error) {
    if (error instanceof Failure && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}

/**
 * Does a write. When the guard refuses a reference that was sent as a bare id, the write is done again with a record of
 * another type that has this id; other refused references are reported with the fields of the simple form that hold
 * them.
 * @param write checks and stores the fields that it receives
 * @throws {Failure} VALIDATION_ERROR, the same for ids that are unknown, deleted or another tenant's
 */
export async function writeResolved<T> (
  context: { readonly mapping: Mapping; readonly store: TenantStore },
  fields: Fields,
  write: (fields: Fields) => Promise<T>
): Promise<T> {
  try {
    return await write(fields)
  } catch (error) {
    if (!(error instanceof ReferenceFailure)) throw error
    const resolved = await resolveBareIds(context, fields, error)
    const { mapping } = context
    if (resolved === undefined || !isFullyResolved(mapping, resolved, error)) {
      throw toFieldPath(mapping, resolved ?? fields, error)
    }
    try {
      return await write(resolved)
    } catch (error) {
      throw error instanceof ReferenceFailure ? toFieldPath(mapping, resolved, error) : error
    }
  }
}

/** Whether no field holds a refused reference any more. */
function isFullyResolved (mapping: Mapping, fields: Fields, { references }: ReferenceFailure): boolean {
  return Object.keys(fields).every(name => countReferences(mapping.fields[name], fields[name], references) === 0)
}

/**
 * A refused reference as the paths of the fields that hold it, such as `participant[1].memberId`; the issues of the
 * failure itself where no field does.
 */
export function toFieldPath (mapping: Mapping, fields: Fields, failure: ReferenceFailure): Failure {
  const names = Object.keys(fields).flatMap(name =>
    findPositions(fields[name], value => countReferences(mapping.fields[name], value, failure.references)).map(
      path => name + path
    )
  )
  const issues = names
    .slice(0, maxIssues)
    .map(name => fieldIssue(name, 'no record that this key can refer to', 'not-found'))
  return new Failure('VALIDATION_ERROR', { issues: issues.length > 0 ? issues : failure.issues, cause: failure })
}

/** How many of these references a field would hold with a value. */
function countReferences (
  element: Mapping['fields'][string] | undefined, value: unknown, references: readonly string[]
): number {
  if (element === undefined || value === null || value === undefined) return 0
  return listReferences(element.write({}, value)).filter(reference => references.includes(reference)).length
}

/**
 * The paths in a value at which references are held: found by testing each item of a list alone, and an object without
 * each of its members, since only the mapping knows which FHIR elements they become.
 * @param held the number of references that the field holds with a value
 */
function findPositions (value: unknown, held: (value: unknown) => number): string[] {
  if (held(value) === 0) return []
  const inner = Array.isArray(value)
    ? findListPositions(value, held)
    : isElement(value)
      ? findObjectPositions(value, held)
      : []
  return inner.length > 0 ? inner : ['']
}

function findListPositions (items: readonly unknown[], held: (value: unknown) => number): string[] {
  return items.flatMap((item, index) => findPositions(item, value => held([value])).map(path => `[${index}]${path}`))
}

function findObjectPositions (object: FhirElement, held: (value: unknown) => number): string[] {
  return Object.entries(object).flatMap(([name, member]) => {
    const others = held(withMember(object, name, undefined))
    return findPositions(member, value => held({ ...object, [name]: value }) - others).map(path => `.${name}${path}`)
  })
}
