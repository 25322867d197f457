import type { FhirElement } from '../fhir.js'
import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'
import { isAscending, rangeRule } from './range.js'

export const observationRules: readonly Rule[] = [
  {
    key: 'US Core',
    severity: 'warning',
    fields: ['effectiveDateTime'],
    message: 'give the clinically relevant time in this field or in effectivePeriod',
    holds: observation => exists(observation, 'effective[x]')
  },
  {
    key: 'obs-3',
    fields: ['referenceRange'],
    message: 'each range needs low, high or text',
    holds: observation =>
      [observation, ...itemsAt(observation, 'component')].every(
        holder =>
          isElement(holder) &&
          itemsAt(holder, 'referenceRange').every(
            range => isElement(range) && ['low', 'high', 'text'].some(part => range[part] !== undefined)
          )
      )
  },
  {
    key: 'obs-6',
    fields: ['dataAbsentReason'],
    message: 'leave it out when there is a value, or remove the value',
    holds: observation => observation.dataAbsentReason === undefined || !hasValue(observation)
  },
  {
    key: 'obs-7',
    fields: ['component'],
    message: 'a component must not have the code of the observation when the observation has a value',
    holds: observation =>
      !hasValue(observation) ||
      !itemsAt(observation, 'component').some(
        component => isElement(component) && codes(component).some(code => codes(observation).includes(code))
      )
  },
  {
    fields: ['referenceRange'],
    message: 'low of a range must not be above its high',
    holds: observation => itemsAt(observation, 'referenceRange').every(isAscending)
  },
  rangeRule('valueRange'),
  rangeRule('valueRange', 'component')
]

const hasValue = (holder: FhirElement): boolean => Object.keys(holder).some(name => /^value[A-Z]/.test(name))

function codes (holder: FhirElement): string[] {
  return itemsAt(holder, 'code.coding').flatMap(coding =>
    isElement(coding) && coding.code !== undefined ? [JSON.stringify([coding.system, coding.code])] : []
  )
}
