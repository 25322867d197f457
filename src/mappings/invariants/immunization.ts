import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const immunizationRules: readonly Rule[] = [
  {
    key: 'occurrence[x] 1..1',
    fields: ['occurrenceDateTime', 'occurrenceText'],
    message: 'occurrenceDateTime or occurrenceText is required',
    holds: immunization => exists(immunization, 'occurrence[x]')
  }
]
