import { isElement, itemsAt } from '../kit/path.js'
import type { Rule } from '../kit/rule.js'

export const carePlanRules: readonly Rule[] = [
  {
    key: 'cpl-3',
    fields: ['activity'],
    says: 'an activity with referenceId has no other field',
    holds: plan => itemsAt(plan, 'activity').every(activity => isElement(activity) && (activity.detail === undefined || activity.reference === undefined))
  }
]
