import { isNotAfter } from '../core/date-order.js'
import { code } from '../datatypes/code.js'
import { concept } from '../datatypes/concept.js'
import { boolean, dateTime } from '../datatypes/primitives.js'
import { simpleQuantity, duration } from '../datatypes/quantities.js'
import { reference } from '../datatypes/reference.js'
import { dosageText, medication, medicationId, medicationRule } from '../fields/medication.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { byReference, from } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { exists, type Rule } from '../core/rule.js'

const medicationDispenseRules: readonly Rule[] = [
  {
    key: 'mdd-1',
    fields: ['whenHandedOver', 'whenPrepared'],
    message:
      'whenHandedOver must not be before whenPrepared, and must be at least as precise if both are otherwise equal',
    // A time that is there without a value, for the extensions that it has, cannot be compared, which R4 counts as
    // broken.
    holds: dispense =>
      !exists(dispense, 'whenPrepared') ||
      !exists(dispense, 'whenHandedOver') ||
      isNotAfter(dispense.whenPrepared, dispense.whenHandedOver)
  }
]

const performers = ['Practitioner', 'PractitionerRole', 'Organization', 'Patient', 'Device', 'RelatedPerson'] as const

/** http://hl7.org/fhir/R4/medicationdispense.html */
export const medicationDispenses = mapping('MedicationDispense', {
  path: 'medication-dispenses',
  operation: 'createMedicationDispense',
  about: 'A medicine that was or will be handed over.',
  fields: {
    identifiers: identifiers(),
    status: code([
      'preparation',
      'in-progress',
      'cancelled',
      'on-hold',
      'completed',
      'entered-in-error',
      'stopped',
      'declined',
      'unknown'
    ])('status', { required: true, default: 'completed', filter: 'status' }),
    statusReasonCodeableConcept: concept('statusReasonCodeableConcept', {
      choice: 'statusReason',
      about: 'Why it was not dispensed.'
    }),
    medication,
    medicationId,
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    authorizingPrescriptionIds: reference('MedicationRequest').list('authorizingPrescription'),
    quantity: simpleQuantity('quantity'),
    daysSupply: duration.days('daysSupply', { about: 'For how many days it lasts.' }),
    whenPrepared: dateTime('whenPrepared'),
    whenHandedOver: dateTime('whenHandedOver'),
    dosageText: dosageText('dosageInstruction'),
    performer: backbone({
      function: concept('function'),
      actorId: reference(performers)('actor', { required: true })
    }).list('performer'),
    locationId: reference('Location')('location'),
    encounterId: reference(['Encounter', 'EpisodeOfCare'])('context', { filter: 'context' }),
    type: concept('type', { filter: 'type', about: 'Such as a first fill or a refill.' }),
    category: concept('category'),
    substitution: backbone({
      wasSubstituted: boolean('wasSubstituted', { required: true }),
      type: concept('type'),
      reason: concept.list('reason')
    })('substitution', { about: 'Whether another product was given than was prescribed.' }),
    note: note('note')
  },
  filters: {
    prescriptionId: byReference('prescription', 'MedicationRequest'),
    performerId: byReference('performer', ...performers),
    preparedFrom: from('whenprepared'),
    handedOverFrom: from('whenhandedover')
  },
  rules: [medicationRule, ...medicationDispenseRules]
})
