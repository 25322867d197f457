import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const carePlanRules: readonly Rule[] = [
  {
    key: 'cpl-3',
    fields: ['activity'],
    message: 'an activity with referenceId has no other field',
    holds: plan =>
      itemsAt(plan, 'activity').every(
        activity => isElement(activity) && !(exists(activity, 'detail') && exists(activity, 'reference'))
      )
  }
]
