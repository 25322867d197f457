import { code } from '../datatypes/code.js'
import { concept, conceptOf } from '../datatypes/concept.js'
import { dateTime, text } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { intOrString } from '../fields/choice.js'
import { from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { doseStatus } from '../value-sets.js'

/** http://hl7.org/fhir/R4/immunizationevaluation.html */
export const immunizationEvaluations = mapping('ImmunizationEvaluation', {
  path: 'immunization-evaluations',
  operation: 'createImmunizationEvaluation',
  about: 'Whether a dose of a vaccine counts towards protection.',
  fields: {
    identifiers: identifiers(),
    status: code(['completed', 'entered-in-error'])('status', {
      required: true,
      default: 'completed',
      filter: 'status'
    }),
    patientId: reference('Patient')('patient', { required: true, filter: 'patient' }),
    immunizationEventId: reference('Immunization')('immunizationEvent', {
      required: true,
      filter: 'immunization-event'
    }),
    targetDisease: concept('targetDisease', { required: true, filter: 'target-disease' }),
    doseStatus: conceptOf({ known: doseStatus })('doseStatus', {
      required: true,
      filter: 'dose-status',
      about: 'valid or notvalid.'
    }),
    doseStatusReason: concept.list('doseStatusReason'),
    date: dateTime('date', { default: now }),
    authorityId: reference('Organization')('authority', { about: 'Whose rules were applied.' }),
    series: text('series'),
    doseNumber: intOrString('doseNumber'),
    seriesDoses: intOrString('seriesDoses'),
    description: text('description')
  },
  filters: { dateFrom: from('date'), dateTo: until('date') }
})
