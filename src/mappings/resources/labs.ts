import { code } from '../datatypes/code.js'
import { attachment, period } from '../datatypes/complex.js'
import { concept, conceptOf } from '../datatypes/concept.js'
import { dateTime, instantOrDay, text } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { firstDisplay } from '../fields/list-items.js'
import { identifiers } from '../fields/identifiers.js'
import { withOtherName } from '../fields/other-forms.js'
import { byReference, from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { diagnosticSections } from '../value-sets.js'

const reporter = reference(['Practitioner', 'PractitionerRole', 'Organization', 'CareTeam'], { named: true })

/** http://hl7.org/fhir/R4/diagnosticreport.html */
export const labs = mapping('DiagnosticReport', {
  path: 'labs',
  operation: 'createLab',
  about: 'The report on one or more laboratory tests or other examinations.',
  fields: {
    identifiers: identifiers(),
    status: code([
      'registered',
      'partial',
      'preliminary',
      'final',
      'amended',
      'corrected',
      'appended',
      'cancelled',
      'entered-in-error',
      'unknown'
    ])('status', { required: true, default: 'final', filter: 'status' }),
    code: concept('code', { required: true, filter: 'code', about: 'What the report is about; LOINC preferred.' }),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    category: conceptOf({ known: diagnosticSections }).list('category', {
      default: 'LAB',
      filter: 'category',
      about: 'The sections of the diagnostic service.'
    }),
    effectiveDateTime: dateTime('effectiveDateTime', {
      choice: 'effective',
      about: 'The clinically relevant time of the results.'
    }),
    effectivePeriod: period('effectivePeriod', { choice: 'effective' }),
    issued: instantOrDay('issued'),
    resultIds: reference('Observation').list('result'),
    conclusion: text('conclusion'),
    conclusionCodes: concept.list('conclusionCode'),
    performerId: reporter.first('performer', { filter: 'performer' }),
    performer: firstDisplay('performer', {
      displayOf: 'performerId',
      about: 'Who is responsible for the report, by name, with or without performerId.'
    }),
    resultsInterpreterId: reporter.first('resultsInterpreter'),
    resultsInterpreter: firstDisplay('resultsInterpreter', {
      displayOf: 'resultsInterpreterId',
      about: 'Who interpreted the results, by name, with or without resultsInterpreterId.'
    }),
    specimenIds: reference('Specimen').list('specimen'),
    encounterId: reference('Encounter')('encounter', { filter: 'encounter' }),
    basedOn: reference([
      'ServiceRequest',
      'CarePlan',
      'MedicationRequest',
      'NutritionOrder',
      'ImmunizationRecommendation'
    ]).list('basedOn'),
    presentedForm: attachment.list('presentedForm', { about: 'The whole report as it was issued.' }),
    media: withOtherName(
      backbone({ comment: text('comment'), mediaId: reference('Media')('link', { required: true }) }),
      { member: 'mediaId', otherName: 'linkId' }
    ).list('media', { about: 'Key images; mediaId may be sent as linkId.' })
  },
  filters: {
    resultId: byReference('result', 'Observation'),
    specimenId: byReference('specimen', 'Specimen'),
    dateFrom: from('date'),
    dateTo: until('date'),
    issuedFrom: from('issued')
  }
})
