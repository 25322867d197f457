import { code, conceptCode } from '../datatypes/code.js'
import { concept, conceptOf } from '../datatypes/concept.js'
import { dateTime, integer } from '../datatypes/primitives.js'
import { quantity } from '../datatypes/quantities.js'
import { anyReference, canonical, reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { byReference, from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone, record } from '../core/structure.js'
import { measurePopulations } from '../value-sets.js'
import type { FhirElement } from '../fhir.js'
import { isElement, itemsAt } from '../core/path.js'
import { exists, type Rule } from '../core/rule.js'

const measureReportRules: readonly Rule[] = [
  {
    key: 'mrp-1',
    fields: ['type', 'group'],
    message: 'a report of type data-collection has no group',
    holds: report => report.type !== 'data-collection' || !exists(report, 'group')
  },
  {
    key: 'mrp-2',
    fields: ['group'],
    message: 'each stratum needs value or component, not both',
    holds: report => listStrata(report).every(stratum => exists(stratum, 'value') !== exists(stratum, 'component'))
  }
]

const listStrata = (report: FhirElement): FhirElement[] => listElementsAt([report], 'group', 'stratifier', 'stratum')

function listElementsAt (holders: readonly FhirElement[], ...path: readonly string[]): FhirElement[] {
  return path.reduce((found, name) => found.flatMap(holder => itemsAt(holder, name).filter(isElement)), [...holders])
}

const subjects = [
  'Patient',
  'Practitioner',
  'PractitionerRole',
  'Location',
  'Device',
  'RelatedPerson',
  'Group'
] as const

const completePeriod = record(
  { start: dateTime('start', { required: true }), end: dateTime('end', { required: true }) },
  { kind: 'date', schema: { 'x-ordered': true }, expects: 'an object with start and end, start not after end' }
)

const improvement = conceptCode('http://terminology.hl7.org/CodeSystem/measure-improvement-notation', {
  increase: 'Increased score indicates improvement', decrease: 'Decreased score indicates improvement'
})

const counted = {
  population: backbone({ code: conceptOf({ known: measurePopulations })('code'), count: integer('count') }).list(
    'population'
  ),
  measureScore: quantity('measureScore')
}

const stratum = backbone({
  value: concept('value'),
  component: backbone({ code: concept('code', { required: true }), value: concept('value', { required: true }) }).list(
    'component'
  ),
  ...counted
})

/** http://hl7.org/fhir/R4/measurereport.html */
export const measureReports = mapping('MeasureReport', {
  path: 'measure-reports',
  operation: 'createMeasureReport',
  about: 'The result of a measure for a time and a patient or a population.',
  fields: {
    identifiers: identifiers(),
    status: code(['complete', 'pending', 'error'])('status', { required: true, default: 'complete', filter: 'status' }),
    type: code(['individual', 'subject-list', 'summary', 'data-collection'])('type', { required: true }),
    measureId: canonical('Measure')('measure', {
      required: true,
      canonicalOf: 'Measure',
      filter: 'measure',
      about: 'The measure by its canonical URL or its id; shown by its URL.'
    }),
    period: completePeriod('period', { required: true, about: 'The measured period.' }),
    patientId: reference(subjects)('subject', { about: 'Whom an individual report is about.' }),
    date: dateTime('date', { default: now, about: 'When the report was made.' }),
    reporterId: reference(['Practitioner', 'PractitionerRole', 'Location', 'Organization'])('reporter', {
      filter: 'reporter'
    }),
    improvementNotation: improvement('improvementNotation', { about: 'Whether a higher or a lower score is better.' }),
    group: backbone({
      code: concept('code'),
      ...counted,
      stratifier: backbone({ code: concept.list('code'), stratum: stratum.list('stratum') }).list('stratifier', {
        about: 'The results for each stratum, such as by sex.'
      })
    }).list('group', { about: 'The counts and scores.' }),
    evaluatedResourceIds: anyReference.list('evaluatedResource', { about: 'What was evaluated, as Type/id.' })
  },
  filters: {
    patientId: byReference('patient', 'Patient'),
    dateFrom: from('date'),
    dateTo: until('date'),
    periodFrom: from('period')
  },
  rules: measureReportRules
})
