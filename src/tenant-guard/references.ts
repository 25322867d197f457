import { Failure } from '../envelope/failures.js'
import { ExactNumber } from '../json.js'
import type { FhirResource } from '../mappings/fhir.js'
import { linkElements, uriReferenceParents } from './link-elements.js'
import { isId, isTenantType, resourceTypes } from './resource-types.js'

/** A place in a resource that leads to a record. */
export interface FoundReference {
  /** FHIRPath of the element that refers: `Observation.performer[0]`. */
  readonly path: string
  /** The record as `Type/id`; undefined where the reference leads to none that a tenant could own. */
  readonly record: string | undefined
}

/** A write that refers to something which is not the tenant's: unknown, deleted and foreign alike. */
export class ReferenceFailure extends Failure {
  /** The places at fault, so that a route can name its own fields for them. */
  readonly references: readonly FoundReference[]

  constructor (references: readonly FoundReference[], cause?: unknown) {
    super('VALIDATION_ERROR', { message: referenceMessage, issues: references.map(issueOf), cause })
    this.references = references
  }
}

/** Why a reference is refused, whatever the reason. */
export const referenceMessage = 'A reference must lead to an existing record of the same organization.'

function issueOf ({ path }: FoundReference): { severity: 'error', code: string, diagnostics: string, expression: string[] } {
  return { severity: 'error', code: 'business-rule', diagnostics: referenceMessage, expression: [path] }
}

/** What a reference may name besides a record. */
export interface Surroundings {
  /** References that stay inside what is written: `#x` of what is contained. */
  readonly inner: ReadonlySet<string>
  /** Base URLs under which a uri would lead to a record of the datastore. */
  readonly bases: readonly string[]
}

/**
 * Every place in a resource that must be checked before it is written: References wherever they are, and uris and
 * canonicals that lead to a record. References inside the resource and to nothing in particular (identifier or display
 * alone) are not among them.
 */
export function referencesIn (resource: FhirResource, bases: readonly string[]): FoundReference[] {
  const surroundings = { inner: containedIn(resource), bases }
  return [...placesIn(resource, resource.resourceType, '')].flatMap(({ path, value, form }) => {
    const target = form === 'uri' ? uriTarget(value, surroundings) : referenceTarget(value, surroundings)
    return target === 'harmless' ? [] : [{ path, record: target }]
  })
}

type Target = string | undefined | 'harmless'

function referenceTarget (value: unknown, { inner }: Surroundings): Target {
  if (typeof value !== 'string') return undefined
  return inner.has(value) ? 'harmless' : recordOf(value)
}

function uriTarget (value: unknown, { bases }: Surroundings): Target {
  if (typeof value !== 'string' || bases.some(base => value.startsWith(`${base}/`))) return undefined
  const plain = value.replace(/[|#].*$/s, '')
  return resourceTypes.has(plain.slice(0, plain.indexOf('/'))) ? recordOf(plain) : 'harmless'
}

function recordOf (reference: string): string | undefined {
  const [type, id, history, version, ...rest] = reference.split('/')
  const isVersioned = history === '_history' && isId(version) && rest.length === 0
  return isTenantType(type!) && isId(id) && (history === undefined || isVersioned) ? `${type}/${id}` : undefined
}

interface Place { readonly path: string, readonly value: unknown, readonly form: 'reference' | 'uri' }

/** `name` is that of the element which holds the value, indexes aside. */
function * placesIn (value: unknown, path: string, name: string): Generator<Place> {
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) yield * placesIn(item, `${path}[${at}]`, name)
  } else if (value !== null && typeof value === 'object' && !(value instanceof ExactNumber)) {
    for (const [key, item] of Object.entries(value)) yield * placesOf(key, item, { value, path, name })
  }
}

function * placesOf (key: string, item: unknown, parent: { value: object, path: string, name: string }): Generator<Place> {
  const path = `${parent.path}.${/^\w{1,64}$/.test(key) ? key : '*'}`
  if (key === 'reference') {
    // HAPI reads a list of one text as that text; whatever is no element must be a reference.
    for (const value of leavesOf(item)) yield isUriReference(parent) && isAbsolute(value) ? { path, value, form: 'uri' } : { path: parent.path, value, form: 'reference' }
  } else if (linkElements.has(key)) {
    for (const value of leavesOf(item).filter(leaf => typeof leaf === 'string')) yield { path, value, form: 'uri' }
  }
  yield * placesIn(item, path, key)
}

function leavesOf (value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(leavesOf)
  const isElement = value !== null && typeof value === 'object' && !(value instanceof ExactNumber)
  return isElement || value === null || value === undefined ? [] : [value]
}

function isUriReference ({ value, name }: { value: object, name: string }): boolean {
  const isResource = name === '' || name === 'contained'
  return uriReferenceParents.has(name) || (isResource && (value as FhirResource).resourceType === 'DetectedIssue')
}

function isAbsolute (value: unknown): boolean {
  return typeof value === 'string' && /^[a-z][a-z0-9+.-]*:/i.test(value)
}

/** `#` alone is the container, as what is contained may refer to it. */
function containedIn ({ contained }: FhirResource): Set<string> {
  const ids = Array.isArray(contained) ? contained.map(resource => resource?.id).filter(isId) : []
  return new Set(['#', ...ids.map(id => `#${id}`)])
}
