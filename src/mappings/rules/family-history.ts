import type { FhirElement } from '../fhir.js'
import type { Rule } from '../kit/rule.js'

export const familyHistoryRules: readonly Rule[] = [
  {
    key: 'fhs-1',
    fields: ['ageString', 'bornDate'],
    says: 'send the age or the birth, not both',
    holds: history => !has(history, 'age') || !has(history, 'born')
  },
  {
    key: 'fhs-2',
    fields: ['estimatedAge', 'ageString'],
    says: 'estimatedAge needs an age',
    holds: history => history.estimatedAge === undefined || has(history, 'age')
  }
]

const has = (history: FhirElement, choice: string): boolean => Object.keys(history).some(name => new RegExp(`^${choice}[A-Z]`).test(name))
