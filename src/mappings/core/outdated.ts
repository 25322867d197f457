/** Content that is removed with an old value because it describes only that value. */
import type { FhirElement } from '../fhir.js'
import { deepEqual, type Element, type ElementOptions } from './element.js'
import { getAt, isElement, itemsAt, withAt, withMember } from './path.js'

/** Members and extensions of an element that describe some of its members, and go when one of those changes. */
export interface Description {
  readonly of: readonly string[]
  readonly members?: readonly string[]
  /** The URLs of extensions. */
  readonly extensions?: readonly string[]
}

/** Extensions that say why there is no value; with one, they are untrue. */
const absence = [
  'http://hl7.org/fhir/StructureDefinition/data-absent-reason',
  'http://hl7.org/fhir/StructureDefinition/iso21090-nullFlavor'
]

/** An element after a change without what describes its old members. */
export function withoutOutdated (
  before: FhirElement,
  after: FhirElement,
  descriptions: readonly Description[] = []
): FhirElement {
  if (after === before) return after
  return descriptions
    .filter(({ of }) => of.some(name => !deepEqual(before[name], after[name])))
    .reduce(
      (rest, { members = [], extensions = [] }) => withoutExtensions(members.reduce(withoutMember, rest), extensions),
      withoutExtensions(after, absence)
    )
}

/** The element without its extensions of some URLs. */
export function withoutExtensions (element: FhirElement, urls: readonly string[]): FhirElement {
  const extensions = itemsAt(element, 'extension')
  const others = extensions.filter(extension => !isElement(extension) || !urls.includes(extension.url as string))
  return others.length === extensions.length
    ? element
    : withMember(element, 'extension', others.length === 0 ? undefined : others)
}

const withoutMember = (element: FhirElement, name: string): FhirElement =>
  withMember(withMember(element, name, undefined), `_${name}`, undefined)

/**
 * The holder with another value at a path. Of what R4's JSON has besides a primitive (`_birthDate`) only the id stays:
 * the extensions say why the old value is masked, or the time of another day.
 */
export function withPrimitive (holder: FhirElement, path: string, value: unknown): FhirElement {
  const after = withAt(holder, path, value)
  if (after === holder) return holder
  const sibling = toSiblingPath(path)
  const extra = getAt(after, sibling)
  if (extra === undefined) return after
  const id = isElement(extra) && value !== undefined ? extra.id : undefined
  return withAt(after, sibling, id === undefined ? undefined : { id })
}

/** `name.given` → `name._given`, where R4's JSON keeps ids and extensions of primitives. */
export const toSiblingPath = (path: string): string =>
  path.slice(0, path.lastIndexOf('.') + 1) + `_${path.slice(path.lastIndexOf('.') + 1)}`

/**
 * A field whose change removes what stands at these paths: no field shows it, and it depends on the old value alone.
 */
export function clearsSiblings<T, O extends ElementOptions> (
  paths: readonly string[],
  element: Element<T, O>
): Element<T, O> {
  return {
    ...element,
    write (holder, value) {
      const after = element.write(holder, value)
      return after === holder ? holder : paths.reduce((rest, path) => withAt(rest, path, undefined), after)
    }
  }
}
