import { code } from '../datatypes/code.js'
import { concept } from '../datatypes/concept.js'
import { boolean, date, dateTime, text } from '../datatypes/primitives.js'
import { nonNegativeQuantity } from '../datatypes/quantities.js'
import { display, reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { intOrString } from '../fields/choice.js'
import { note } from '../fields/note.js'
import { byReference, byText, byToken, from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { exists, type Rule } from '../core/rule.js'

const immunizationRules: readonly Rule[] = [
  {
    key: 'occurrence[x] 1..1',
    fields: ['occurrenceDateTime', 'occurrenceText'],
    message: 'occurrenceDateTime or occurrenceText is required',
    holds: immunization => exists(immunization, 'occurrence[x]')
  }
]

const performers = ['Practitioner', 'PractitionerRole', 'Organization'] as const

/** http://hl7.org/fhir/R4/immunization.html */
export const immunizations = mapping('Immunization', {
  path: 'immunizations',
  operation: 'createImmunization',
  about: 'A vaccine given to a patient, or not given and why.',
  fields: {
    identifiers: identifiers(),
    status: code(['completed', 'entered-in-error', 'not-done'])('status', {
      required: true,
      default: 'completed',
      filter: 'status'
    }),
    statusReason: concept('statusReason', { about: 'Why it was not done.' }),
    vaccineCode: concept('vaccineCode', {
      required: true,
      filter: 'vaccine-code',
      about: 'The vaccine; CVX preferred.'
    }),
    patientId: reference('Patient')('patient', { required: true, filter: 'patient' }),
    encounterId: reference('Encounter')('encounter'),
    occurrenceDateTime: dateTime('occurrenceDateTime', { choice: 'occurrence', default: now }),
    occurrenceText: text('occurrenceString', {
      choice: 'occurrence',
      about: 'When it was given, as text, instead of occurrenceDateTime.'
    }),
    recorded: dateTime('recorded'),
    primarySource: boolean('primarySource', { about: 'Whether it is reported by those who gave it.' }),
    lotNumber: text('lotNumber', { filter: 'lot-number' }),
    expirationDate: date('expirationDate'),
    manufacturerId: reference('Organization', { named: true })('manufacturer'),
    manufacturer: display(500)('manufacturer', {
      displayOf: 'manufacturerId',
      about: 'The manufacturer by name, with or without manufacturerId.'
    }),
    site: concept('site'),
    route: concept('route'),
    doseQuantity: nonNegativeQuantity('doseQuantity'),
    performer: backbone({
      function: concept('function'),
      actorId: reference(performers)('actor', { required: true })
    }).list('performer'),
    protocolApplied: backbone({
      doseNumber: intOrString('doseNumber', { required: true }),
      seriesDoses: intOrString('seriesDoses'),
      series: text('series'),
      targetDisease: concept.list('targetDisease', { searched: true }),
      authorityId: reference('Organization')('authority')
    }).list('protocolApplied', { about: 'Which dose of which series it is.' }),
    reasonCode: concept.list('reasonCode'),
    reaction: backbone({
      date: dateTime('date'),
      detailId: reference('Observation')('detail'),
      reported: boolean('reported', { about: 'Whether the patient reported it.' })
    }).list('reaction'),
    isSubpotent: boolean('isSubpotent', { about: 'True when the dose was less than it should have been.' }),
    note: note('note')
  },
  filters: {
    performerId: byReference('performer', ...performers),
    targetDisease: byToken('target-disease'),
    series: byText('series'),
    dateFrom: from('date'),
    dateTo: until('date')
  },
  rules: immunizationRules
})
