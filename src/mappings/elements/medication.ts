import { concept } from '../datatypes/concept.js'
import { reference } from '../datatypes/reference.js'
import type { Rule } from '../kit/rule.js'

/** The medicine in words or by a code, as orders, dispenses and statements name it. */
export const medication = concept('medicationCodeableConcept', {
  required: true, choice: 'medication', filter: 'code', about: 'The medicine in words or by its code; medicationId may stand in its place.'
})

/** The medicine as a record of the store. */
export const medicationId = reference('Medication')('medicationReference', {
  choice: 'medication', filter: 'medication', about: 'The medicine as a record of the store, in place of medication.'
})

/** medication[x] is 1..1 in R4. */
export const medicationRule: Rule = {
  key: 'medication[x] 1..1',
  fields: ['medication', 'medicationId'],
  says: 'one of medication and medicationId is needed',
  holds: resource => resource.medicationCodeableConcept !== undefined || resource.medicationReference !== undefined
}
