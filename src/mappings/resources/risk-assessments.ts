import { code } from '../datatypes/code.js'
import { conceptOf } from '../datatypes/concept.js'
import { dateTime, decimal, decimalWithin, textUpTo } from '../datatypes/primitives.js'
import { anyReference, reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { noParameter } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { observationStatus } from '../value-sets.js'
import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'

const riskAssessmentRules: readonly Rule[] = [
  {
    key: 'ras-2',
    fields: ['prediction'],
    message: 'a probability cannot be above 100',
    holds: assessment =>
      itemsAt(assessment, 'prediction').every(
        prediction =>
          !isElement(prediction) ||
          prediction.probabilityDecimal === undefined ||
          Number(prediction.probabilityDecimal) <= 100
      )
  }
]

const kind = conceptOf({ max: 200 })

/** http://hl7.org/fhir/R4/riskassessment.html */
export const riskAssessments = mapping('RiskAssessment', {
  path: 'risk-assessments',
  operation: 'createRiskAssessment',
  about: 'How likely it is that something happens to a patient.',
  fields: {
    identifiers: identifiers(),
    status: code(observationStatus)('status', { required: true, filter: noParameter }),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    encounterId: reference('Encounter')('encounter'),
    method: kind('method', { filter: 'method', about: 'How the risk was found.' }),
    code: kind('code'),
    occurrenceDateTime: dateTime('occurrenceDateTime', { choice: 'occurrence' }),
    conditionId: reference('Condition')('condition', { filter: 'condition' }),
    performerId: reference(['Practitioner', 'PractitionerRole', 'Device'])('performer'),
    reasonCode: conceptOf({ max: 500 }).list('reasonCode', { maxItems: 10, about: 'Why the risk was assessed.' }),
    prediction: backbone({
      outcome: conceptOf({ max: 500 })('outcome'),
      probabilityDecimal: decimalWithin(0, 1)('probabilityDecimal', { choice: 'probability' }),
      qualitativeRisk: kind('qualitativeRisk'),
      relativeRisk: decimal('relativeRisk'),
      rationale: textUpTo(2000)('rationale')
    }).list('prediction', { maxItems: 20, about: 'What may happen, and how likely it is.' }),
    mitigation: textUpTo(5000)('mitigation'),
    note: note('note', { max: 5000 }),
    basedOnId: anyReference('basedOn', { about: 'The request that the assessment fulfils, as Type/id.' })
  },
  rules: riskAssessmentRules
})
