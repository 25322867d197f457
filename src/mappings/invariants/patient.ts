import { itemsAt, isElement } from '../core/path.js'
import { isOrdered } from '../core/date-order.js'
import type { Rule } from '../core/rule.js'
import { givenNameRule, nameRule } from '../fields/human-name.js'

export const patientRules: readonly Rule[] = [
  {
    // Advice alone: a child that died before it was born has such dates.
    severity: 'warning',
    fields: ['birthDate', 'deceased'],
    message: 'the death is before the birth; check both',
    holds: patient => isOrdered(patient.birthDate, patient.deceasedDateTime)
  },
  {
    key: 'pat-1',
    fields: ['contact'],
    message: 'each contact needs a name, phone, email or address',
    holds: patient => itemsAt(patient, 'contact').every(contact =>
      isElement(contact) && ['name', 'telecom', 'address', 'organization'].some(part => contact[part] !== undefined))
  },
  nameRule,
  givenNameRule('middleName', 'needs firstName, which is not stored; send both, or remove both')
]
