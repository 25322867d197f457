import { code } from '../datatypes/code.js'
import { concept, conceptOf, toKnownCodes } from '../datatypes/concept.js'
import { absoluteUri, boolean, dateTime, openCode, text, textUpTo } from '../datatypes/primitives.js'
import { identifiers } from '../fields/identifiers.js'
import { byCode, from, until } from '../core/filter.js'
import { mapping, newUrl, now } from '../core/mapping.js'
import { backbone, record } from '../core/structure.js'
import { measurePopulations, publicationStatus } from '../value-sets.js'

const scoring = toKnownCodes('http://terminology.hl7.org/CodeSystem/measure-scoring', {
  proportion: 'Proportion', ratio: 'Ratio', 'continuous-variable': 'Continuous Variable', cohort: 'Cohort'
})
const types = toKnownCodes('http://terminology.hl7.org/CodeSystem/measure-type', {
  process: 'Process',
  outcome: 'Outcome',
  structure: 'Structure',
  'patient-reported-outcome': 'Patient Reported Outcome',
  composite: 'Composite'
})

const criteria = record({
  language: openCode('language', { required: true }),
  expression: text('expression', { required: true })
})

/** http://hl7.org/fhir/R4/measure.html */
export const measures = mapping('Measure', {
  path: 'measures',
  operation: 'createMeasure',
  about: 'How the quality of care is counted.',
  fields: {
    identifiers: identifiers(),
    status: code(publicationStatus)('status', { required: true, default: 'draft', filter: 'status' }),
    name: text('name', {
      filter: 'name',
      about: 'Computer-friendly name: a capital letter, then letters, digits and underscores.'
    }),
    title: text('title', { filter: 'title', about: 'Human-friendly name.' }),
    url: absoluteUri('url', {
      default: newUrl,
      filter: 'url',
      about: 'Its canonical identifier, the same wherever it is stored.'
    }),
    version: text('version'),
    description: text('description'),
    date: dateTime('date', { default: now, about: 'When it was last changed.' }),
    publisher: text('publisher', { filter: 'publisher' }),
    experimental: boolean('experimental'),
    scoring: conceptOf({ known: scoring })('scoring', { about: 'How the score is calculated from the counts.' }),
    type: conceptOf({ known: types }).list('type', { about: 'What is counted.' }),
    topic: concept.list('topic', { filter: 'topic' }),
    purpose: text('purpose'),
    rationale: text('rationale'),
    guidance: text('guidance', { about: 'How it is to be used by those who measure.' }),
    group: backbone({
      code: concept('code'),
      description: text('description'),
      population: backbone({
        code: conceptOf({ known: measurePopulations })('code'),
        criteria: criteria('criteria', { required: true, about: 'Who belongs to it, as an expression such as CQL.' })
      }).list('population')
    }).list('group', { about: 'The populations that are counted together.' }),
    usage: textUpTo(5000)('usage'),
    riskAdjustment: textUpTo(5000)('riskAdjustment'),
    clinicalRecommendationStatement: textUpTo(5000)('clinicalRecommendationStatement')
  },
  filters: { version: byCode('version'), dateFrom: from('date'), dateTo: until('date') }
})
