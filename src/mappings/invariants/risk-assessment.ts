import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'

export const riskAssessmentRules: readonly Rule[] = [
  {
    key: 'ras-2',
    fields: ['prediction'],
    message: 'a probability cannot be above 100',
    holds: assessment =>
      itemsAt(assessment, 'prediction').every(
        prediction =>
          !isElement(prediction) ||
          prediction.probabilityDecimal === undefined ||
          Number(prediction.probabilityDecimal) <= 100
      )
  }
]
