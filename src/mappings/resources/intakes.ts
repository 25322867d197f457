import { code } from '../datatypes/code.js'
import { dateTime } from '../datatypes/primitives.js'
import { canonical, reference } from '../datatypes/reference.js'
import { oneIdentifier } from '../fields/identifiers.js'
import { responseItem } from '../fields/questionnaire-items.js'
import { recursiveList } from '../fields/list-items.js'
import { from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import type { FhirElement } from '../fhir.js'
import { isElement, itemsAt } from '../core/path.js'
import { exists, type Rule } from '../core/rule.js'

const questionnaireResponseRules: readonly Rule[] = [
  {
    key: 'qrs-1',
    fields: ['items'],
    message: 'an item has either answers or items; put items that follow from an answer under that answer',
    holds: response => listItems(response).every(item => !(exists(item, 'answer') && exists(item, 'item')))
  }
]

function listItems (holder: FhirElement): FhirElement[] {
  const items = itemsAt(holder, 'item').filter(isElement)
  return items.flatMap(item => [
    item,
    ...listItems(item),
    ...itemsAt(item, 'answer').filter(isElement).flatMap(listItems)
  ])
}

/** http://hl7.org/fhir/R4/questionnaireresponse.html */
export const intakes = mapping('QuestionnaireResponse', {
  path: 'intakes',
  operation: 'submitIntake',
  about: 'The answers to a questionnaire, such as an intake form.',
  fields: {
    identifier: oneIdentifier(),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    questionnaire: canonical('Questionnaire')('questionnaire', {
      canonicalOf: 'Questionnaire',
      filter: 'questionnaire',
      about: 'The form that was filled in, by its canonical URL or its id; shown by its URL where it has one.'
    }),
    status: code(['in-progress', 'completed', 'amended', 'entered-in-error', 'stopped'])('status', {
      required: true,
      default: 'completed',
      filter: 'status'
    }),
    items: recursiveList(responseItem, 'item', { required: true }),
    authored: dateTime('authored', { default: now }),
    authorId: reference(['Practitioner', 'PractitionerRole', 'Patient', 'RelatedPerson', 'Device', 'Organization'])(
      'author',
      { filter: 'author', about: 'Who wrote the answers down.' }
    ),
    sourceId: reference(['Patient', 'Practitioner', 'PractitionerRole', 'RelatedPerson'])('source', {
      filter: 'source',
      about: 'Who answered.'
    }),
    encounterId: reference('Encounter')('encounter', { filter: 'encounter' }),
    basedOn: reference(['CarePlan', 'ServiceRequest']).list('basedOn'),
    partOf: reference(['Observation', 'Procedure']).list('partOf')
  },
  filters: { dateFrom: from('authored'), dateTo: until('authored') },
  rules: questionnaireResponseRules
})
