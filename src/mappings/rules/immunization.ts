import type { Rule } from '../kit/rule.js'
import { exists } from '../kit/exists.js'

export const immunizationRules: readonly Rule[] = [
  {
    key: 'occurrence[x] 1..1',
    fields: ['occurrenceDateTime', 'occurrenceText'],
    says: 'one of occurrenceDateTime and occurrenceText is needed',
    holds: immunization => exists(immunization, 'occurrence[x]')
  }
]
