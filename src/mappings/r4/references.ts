/** R4's requirements on references and on contained resources: http://hl7.org/fhir/R4/references.html#contained */
import { typePattern, idPattern } from '../../fhir/names.js'
import type { FhirElement } from '../fhir.js'
import { isResourceType } from './elements.js'
import { reportFault, isPlainObject, type Walk } from './walk.js'

const ofRecord = new RegExp(
  `^(?:https?://.+/)?(${typePattern})/${idPattern}(?:/_history/${idPattern})?$|^(${typePattern})\\?`
)

/**
 * Whether a reference leads to one of the types that R4 allows there. That it leads to a record at all is for the
 * tenant guard.
 */
export function checkReference (value: FhirElement, targets: ReadonlySet<string> | undefined, walk: Walk): void {
  const { reference, type } = value
  if (typeof reference === 'string') {
    const isLocal = reference.length > 1 && reference.startsWith('#')
    const found = isLocal ? walk.contained.get(reference.slice(1)) : parseTargetType(reference)
    if (found !== undefined && targets?.has(found) === false) {
      reportFault(walk, formatExpectedTargets(targets), { code: 'invalid', below: ['reference'] })
    }
  }
  if (typeof type === 'string' && targets?.has(type) === false && isResourceType(type)) {
    reportFault(walk, formatExpectedTargets(targets), { code: 'invalid', below: ['type'] })
  }
}

const formatExpectedTargets = (targets: ReadonlySet<string>): string =>
  `expected a reference to ${[...targets].join(', ')}`

function parseTargetType (reference: string): string | undefined {
  const [, record, searched] = ofRecord.exec(reference) ?? []
  const type = record ?? searched
  return type !== undefined && isResourceType(type) ? type : undefined
}

/** The message for a contained resource to which nothing refers. */
export const orphaned = 'nothing in the record refers to it; refer to it by # and its id, or leave it out (dom-3)'

const none: ReadonlyMap<string, string> = new Map()

/** The types of the resources that a resource contains, by their ids. */
export function getContainedTypes ({ contained }: FhirElement): ReadonlyMap<string, string> {
  if (!Array.isArray(contained)) return none
  return new Map(contained.filter(isPlainObject).map(({ id, resourceType }) => [String(id), String(resourceType)]))
}

/** dom-2 to dom-5, and that each has an id of its own, by which alone it can be referred to. */
export function checkContained (resource: FhirElement, walk: Walk): void {
  const { contained } = resource
  if (!Array.isArray(contained)) return
  const referred = new Set<string>()
  collectFragments(resource, referred)
  const seen = new Set<unknown>()
  for (const [at, item] of contained.entries()) {
    if (!isPlainObject(item)) continue
    const { id, meta, contained: nested } = item
    const report = (message: string, ...below: readonly string[]): void =>
      reportFault(walk, message, { code: 'invariant', below: ['contained', at, ...below] })
    if (nested !== undefined) {
      report('a contained resource contains no others; move them into the outer one (dom-2)', 'contained')
    }
    if (id === undefined) report('a contained resource needs an id by which the record refers to it (dom-3)', 'id')
    else if (seen.has(id)) report('another contained resource has this id', 'id')
    else if (typeof id === 'string' && !referred.has(`#${id}`) && !hasReferenceToContainer(item)) report(orphaned)
    seen.add(id)
    if (!isPlainObject(meta)) continue
    for (const name of ['versionId', 'lastUpdated']) {
      if (name in meta) report('a contained resource has no version; leave it out (dom-4)', 'meta', name)
    }
    if ('security' in meta) {
      report(
        'a contained resource has no security labels of its own; put them on the record (dom-5)',
        'meta',
        'security'
      )
    }
  }
}

/** The texts in a value that may refer to a contained resource: references, canonicals, URIs. */
function collectFragments (value: unknown, found: Set<string>): void {
  if (typeof value === 'string') {
    if (value.charCodeAt(0) === 0x23) found.add(value)
  } else if (Array.isArray(value)) {
    for (const item of value) collectFragments(item, found)
  } else if (isPlainObject(value)) {
    for (const name in value) collectFragments(value[name], found)
  }
}

function hasReferenceToContainer (item: FhirElement): boolean {
  const fragments = new Set<string>()
  collectFragments(item, fragments)
  return fragments.has('#')
}
