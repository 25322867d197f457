import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'

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
