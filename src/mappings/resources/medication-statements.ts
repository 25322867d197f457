import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { dateTime } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { dosage, dosageText, medication, medicationId, medicationRule } from '../fields/medication.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { byReference, from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'

const sources = ['Patient', 'Practitioner', 'PractitionerRole', 'RelatedPerson', 'Organization'] as const

/** http://hl7.org/fhir/R4/medicationstatement.html */
export const medicationStatements = mapping('MedicationStatement', {
  path: 'medication-statements',
  operation: 'createMedicationStatement',
  about: 'A report that a patient takes a medicine.',
  fields: {
    identifiers: identifiers(),
    status: code(['active', 'completed', 'entered-in-error', 'intended', 'stopped', 'on-hold', 'unknown', 'not-taken'])(
      'status',
      { required: true, default: 'active', filter: 'status' }
    ),
    medication,
    medicationId,
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    effectiveDateTime: dateTime('effectiveDateTime', { choice: 'effective', about: 'When it is or was taken.' }),
    effectivePeriod: period('effectivePeriod', { choice: 'effective' }),
    dateAsserted: dateTime('dateAsserted', { default: now }),
    informationSourceId: reference(sources)('informationSource', { about: 'Who reports it.' }),
    encounterId: reference(['Encounter', 'EpisodeOfCare'])('context', { filter: 'context' }),
    dosageText: dosageText('dosage'),
    dosage: dosage('dosage'),
    category: concept('category', { filter: 'category' }),
    reasonCode: concept.list('reasonCode'),
    statusReason: concept.list('statusReason'),
    basedOn: reference(['MedicationRequest', 'CarePlan', 'ServiceRequest']).list('basedOn'),
    partOf: reference([
      'MedicationAdministration',
      'MedicationDispense',
      'MedicationStatement',
      'Procedure',
      'Observation'
    ]).list('partOf'),
    note: note('note')
  },
  filters: { sourceId: byReference('source', ...sources), dateFrom: from('effective'), dateTo: until('effective') },
  rules: [medicationRule]
})
