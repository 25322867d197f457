import { isElement, itemsAt } from '../kit/path.js'
import type { Rule } from '../kit/rule.js'
import { exists } from '../kit/exists.js'
import { rangeRule } from './range.js'

export const goalRules: readonly Rule[] = [
  {
    key: 'gol-1',
    fields: ['target'],
    says: 'a target with a detail needs a measure',
    holds: goal => itemsAt(goal, 'target').every(target => !isElement(target) || !exists(target, 'detail[x]') || exists(target, 'measure'))
  },
  rangeRule('detailRange', 'target')
]
