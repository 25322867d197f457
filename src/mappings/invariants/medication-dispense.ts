import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const medicationDispenseRules: readonly Rule[] = [
  {
    key: 'mdd-1',
    fields: ['whenHandedOver', 'whenPrepared'],
    message:
      'whenHandedOver must not be before whenPrepared, and must be at least as precise if both are otherwise equal',
    // A time that is there without a value, for the extensions that it has, cannot be compared, which R4 counts as
    // broken.
    holds: dispense =>
      !exists(dispense, 'whenPrepared') ||
      !exists(dispense, 'whenHandedOver') ||
      isNotAfter(dispense.whenPrepared, dispense.whenHandedOver)
  }
]

/** Whether one time is certainly not after another: 2026-03 may be after 2026-03-14, and not after 2026-04. */
function isNotAfter (first: unknown, second: unknown): boolean {
  if (typeof first !== 'string' || typeof second !== 'string') return false
  if (first.includes('T') && second.includes('T')) return Date.parse(first) <= Date.parse(second)
  const shared = Math.min(...[first, second].map(time => time.split('T')[0]!.length))
  const [early, late] = [first.slice(0, shared), second.slice(0, shared)]
  return early < late || (early === late && first.length <= second.length)
}
