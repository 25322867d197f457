import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { dateTime, text, uri } from '../datatypes/primitives.js'
import { anyReference, reference } from '../datatypes/reference.js'
import { finding } from '../fields/finding.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { byReference, byToken, from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'

const problems = ['Condition', 'AllergyIntolerance'] as const

/** http://hl7.org/fhir/R4/clinicalimpression.html */
export const assessments = mapping('ClinicalImpression', {
  path: 'assessments',
  operation: 'createAssessment',
  about: 'A clinician’s assessment of a patient’s condition.',
  fields: {
    identifiers: identifiers(),
    status: code(['in-progress', 'completed', 'entered-in-error'])('status', {
      required: true,
      default: 'completed',
      filter: 'status'
    }),
    statusReason: concept('statusReason'),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    summary: text('summary', { required: true }),
    description: text('description', { about: 'Why and how the assessment was made.' }),
    code: concept('code', { about: 'What kind of assessment it is.' }),
    practitionerId: reference(['Practitioner', 'PractitionerRole'])('assessor', { filter: 'assessor' }),
    encounterId: reference('Encounter')('encounter', { filter: 'encounter' }),
    effectiveDateTime: dateTime('effectiveDateTime', {
      choice: 'effective',
      about: 'The time of the state that was assessed.'
    }),
    effectivePeriod: period('effectivePeriod', { choice: 'effective' }),
    date: dateTime('date', { default: now, about: 'When the assessment was recorded.' }),
    findings: finding.list('finding'),
    problemIds: reference(problems).list('problem', { about: 'The problems that were considered.' }),
    investigations: backbone({
      name: concept('code', { required: true }),
      itemIds: reference([
        'Observation',
        'QuestionnaireResponse',
        'FamilyMemberHistory',
        'DiagnosticReport',
        'RiskAssessment',
        'ImagingStudy',
        'Media'
      ]).list('item')
    }).list('investigation', { about: 'What was looked at, in groups such as signs and symptoms.' }),
    prognosis: concept.list('prognosisCodeableConcept'),
    protocol: uri.list('protocol', { about: 'The protocols that were followed.' }),
    previousAssessmentId: reference('ClinicalImpression')('previous', { filter: 'previous' }),
    supportingInfoIds: anyReference.list('supportingInfo'),
    note: note('note')
  },
  filters: {
    problemId: byReference('problem', ...problems),
    findingCode: byToken('finding-code'),
    dateFrom: from('date'),
    dateTo: until('date')
  }
})
