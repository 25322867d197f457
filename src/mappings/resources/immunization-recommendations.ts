import { concept, conceptOf, toKnownCodes } from '../datatypes/concept.js'
import { dateTime, text } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { intOrString } from '../fields/choice.js'
import { byToken, from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { isElement, itemsAt } from '../core/path.js'
import { exists, type Rule } from '../core/rule.js'

const immunizationRecommendationRules: readonly Rule[] = [
  {
    key: 'imr-1',
    fields: ['recommendation'],
    message: 'each recommendation needs vaccineCode or targetDisease',
    holds: recommendations =>
      itemsAt(recommendations, 'recommendation').every(
        item => isElement(item) && (exists(item, 'vaccineCode') || exists(item, 'targetDisease'))
      )
  }
]

const forecastStatus = toKnownCodes('http://terminology.hl7.org/CodeSystem/immunization-recommendation-status', {
  due: 'Due', overdue: 'Overdue', immune: 'Immune', contraindicated: 'Contraindicated', complete: 'Complete'
})

const recommendation = backbone({
  forecastStatus: conceptOf({ known: forecastStatus })('forecastStatus', { required: true, searched: true }),
  vaccineCode: concept.list('vaccineCode', { searched: true }),
  targetDisease: concept('targetDisease', { searched: true }),
  contraindicatedVaccineCode: concept.list('contraindicatedVaccineCode'),
  forecastReason: concept.list('forecastReason'),
  dateCriterion: backbone({
    code: concept('code', { required: true, about: 'Such as the earliest day.' }),
    value: dateTime('value', { required: true })
  }).list('dateCriterion'),
  description: text('description'),
  series: text('series'),
  doseNumber: intOrString('doseNumber'),
  seriesDoses: intOrString('seriesDoses'),
  supportingImmunizationIds: reference(['Immunization', 'ImmunizationEvaluation']).list('supportingImmunization')
})

/** http://hl7.org/fhir/R4/immunizationrecommendation.html */
export const immunizationRecommendations = mapping('ImmunizationRecommendation', {
  path: 'immunization-recommendations',
  operation: 'createImmunizationRecommendation',
  about: 'The vaccinations that a patient should get, and when.',
  fields: {
    identifiers: identifiers(),
    patientId: reference('Patient')('patient', { required: true, filter: 'patient' }),
    date: dateTime('date', { required: true, default: now, about: 'When the recommendations were made.' }),
    authorityId: reference('Organization')('authority', { about: 'Whose schedule they follow.' }),
    recommendation: recommendation.list('recommendation', {
      required: true,
      about: 'Each with vaccineCode or targetDisease.',
      example: [{ vaccineCode: 'Influenza', forecastStatus: 'due' }]
    })
  },
  filters: {
    vaccineCode: byToken('vaccine-type'),
    targetDisease: byToken('target-disease'),
    status: byToken('status'),
    dateFrom: from('date'),
    dateTo: until('date')
  },
  rules: immunizationRecommendationRules
})
