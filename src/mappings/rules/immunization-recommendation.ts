import { isElement, itemsAt } from '../kit/path.js'
import type { Rule } from '../kit/rule.js'
import { exists } from '../kit/exists.js'

export const immunizationRecommendationRules: readonly Rule[] = [
  {
    key: 'imr-1',
    fields: ['recommendation'],
    says: 'each recommendation needs vaccineCode or targetDisease',
    holds: recommendations => itemsAt(recommendations, 'recommendation').every(item => isElement(item) && (exists(item, 'vaccineCode') || exists(item, 'targetDisease')))
  }
]
