import type { FhirElement } from '../fhir.js'
import { isElement, itemsAt } from './path.js'

/** An invariant on elements that the simple form shows, checked before the backend could; or advice. */
export interface Rule {
  /**
   * R4's own key, such as obs-6; for a warning, its source. Absent: a rule of the gateway, such as that nothing ends
   * before it starts.
   */
  readonly key?: string
  /**
   * 'warning': a record that breaks the rule is stored, and its author gets a warning. Absent: the record is rejected.
   */
  readonly severity?: 'warning'
  /** The fields to correct, each named in an issue. */
  readonly fields: readonly string[]
  /** The correction to make. */
  readonly message: string
  readonly holds: (resource: FhirElement) => boolean
}

/**
 * Whether R4 counts an element as existing: it has a value, or an id or extensions in its place. A choice is named
 * `age[x]`.
 */
export function exists (holder: FhirElement, name: string): boolean {
  const form = new RegExp(`^_?${name.replace('[x]', '[A-Z]\\w*')}$`)
  return Object.keys(holder).some(key => form.test(key))
}

/** Whether a CodeableConcept has one of these codes of a system. */
export function hasCoding (concept: unknown, system: string, ...codes: readonly string[]): boolean {
  return (
    isElement(concept) &&
    itemsAt(concept, 'coding').some(
      coding => isElement(coding) && coding.system === system && codes.includes(coding.code as string)
    )
  )
}

/**
 * R4 invariant rng-2 for the Range of a field, or for those in the items of a list. Ends in different units are taken
 * as in order. http://hl7.org/fhir/R4/datatypes.html#Range
 */
export const rangeRule = (name: string, list?: string): Rule => ({
  key: 'rng-2',
  fields: [list ?? name],
  message: 'low of a range must not be above its high',
  holds: resource =>
    (list === undefined ? [resource] : itemsAt(resource, list)).every(
      holder => !isElement(holder) || isAscending(holder[name])
    )
})

/** Whether the low end of a Range, or of what has the same two ends, is not above its high one. */
export function isAscending (range: unknown): boolean {
  if (!isElement(range)) return true
  const { low, high } = range
  if (!isElement(low) || !isElement(high)) return true
  const isOneUnit =
    low.system === high.system && low.code === high.code && (low.code !== undefined || low.unit === high.unit)
  return !isOneUnit || !(Number(low.value) > Number(high.value))
}

/** A field that shows of the first item of a list what R4 requires of each. */
interface FirstOfItems {
  readonly field: string
  /** The list's name in FHIR, and the name of what its items need. */
  readonly list: string
  readonly part: string
  /** The field that shows the whole list. */
  readonly full: string
}

/** Such a field is not removed from an item that holds more, which would have to go with it. */
export const firstItemRule = ({ field, list, part, full }: FirstOfItems): Rule => ({
  key: `${list}.${part} 1..1`,
  fields: [field],
  message: `cannot be removed alone, since there is more beside it; change ${full} instead`,
  holds (resource) {
    const [first] = itemsAt(resource, list)
    return !isElement(first) || exists(first, part)
  }
})
