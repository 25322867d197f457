import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const familyHistoryRules: readonly Rule[] = [
  {
    key: 'fhs-1',
    fields: ['ageString', 'bornDate'],
    message: 'send the age or the birth, not both',
    holds: history => !exists(history, 'age[x]') || !exists(history, 'born[x]')
  },
  {
    key: 'fhs-2',
    fields: ['estimatedAge', 'ageString'],
    message: 'estimatedAge needs an age',
    holds: history => !exists(history, 'estimatedAge') || exists(history, 'age[x]')
  }
]
