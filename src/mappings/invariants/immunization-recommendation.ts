import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const immunizationRecommendationRules: readonly Rule[] = [
  {
    key: 'imr-1',
    fields: ['recommendation'],
    message: 'each recommendation needs vaccineCode or targetDisease',
    holds: recommendations =>
      itemsAt(recommendations, 'recommendation').every(
        item => isElement(item) && (exists(item, 'vaccineCode') || exists(item, 'targetDisease'))
      )
  }
]
