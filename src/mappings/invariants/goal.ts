import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'
import { rangeRule } from './range.js'

export const goalRules: readonly Rule[] = [
  {
    key: 'gol-1',
    fields: ['target'],
    message: 'a target with a detail needs a measure',
    holds: goal =>
      itemsAt(goal, 'target').every(
        target => !isElement(target) || !exists(target, 'detail[x]') || exists(target, 'measure')
      )
  },
  rangeRule('detailRange', 'target')
]
