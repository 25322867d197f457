import { concept } from '../datatypes/concept.js'
import { reference } from '../datatypes/reference.js'
import type { Rule } from '../core/rule.js'

/** The medicine in words or by a code, as orders, dispenses and statements name it. */
export const medication = concept('medicationCodeableConcept', {
  required: true,
  choice: 'medication',
  filter: 'code',
  about: 'The medicine as text or as a code; medicationId can be used instead.'
})

/** The medicine as a record of the store. */
export const medicationId = reference('Medication')('medicationReference', {
  choice: 'medication',
  filter: 'medication',
  about: 'The medicine as a stored Medication record, instead of medication.'
})

/** medication[x] is 1..1 in R4. */
export const medicationRule: Rule = {
  key: 'medication[x] 1..1',
  fields: ['medication', 'medicationId'],
  message: 'medication or medicationId is required',
  holds: resource => resource.medicationCodeableConcept !== undefined || resource.medicationReference !== undefined
}
