import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { dateTime, text } from '../datatypes/primitives.js'
import { simpleQuantity } from '../datatypes/quantities.js'
import { reference } from '../datatypes/reference.js'
import { atMostOne } from '../fields/choice.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { byCode, byReference, byToken, from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'

const collectors = ['Practitioner', 'PractitionerRole'] as const

/** http://hl7.org/fhir/R4/specimen.html */
export const specimens = mapping('Specimen', {
  path: 'specimens',
  operation: 'createSpecimen',
  about: 'A sample that is examined.',
  fields: {
    identifiers: identifiers(),
    patientId: reference(['Patient', 'Group', 'Device', 'Substance', 'Location'])('subject', {
      required: true,
      about: 'Where it comes from.'
    }),
    type: concept('type', { filter: 'type' }),
    status: code(['available', 'unavailable', 'unsatisfactory', 'entered-in-error'])('status', {
      default: 'available',
      filter: 'status'
    }),
    accessionNumber: text('accessionIdentifier.value', { about: 'The number that the laboratory gave it.' }),
    receivedTime: dateTime('receivedTime'),
    collection: backbone(
      {
        collectorId: reference(collectors)('collector'),
        collectedDateTime: dateTime('collectedDateTime', { choice: 'collected' }),
        collectedPeriod: period('collectedPeriod', { choice: 'collected' }),
        quantity: simpleQuantity('quantity'),
        method: concept('method'),
        bodySite: concept('bodySite', { searched: true }),
        fastingStatus: concept('fastingStatusCodeableConcept', { choice: 'fastingStatus' })
      },
      { schema: atMostOne('collectedDateTime', 'collectedPeriod') }
    )('collection', { about: 'How it was taken, by whom, when and from where.' }),
    collectedPeriod: period('collection.collectedPeriod', {
      choice: 'collected',
      shortcutOf: 'collection',
      about: 'The same as collection.collectedPeriod.'
    }),
    parentIds: reference('Specimen').list('parent', { about: 'The specimens from which it was made.' }),
    requestIds: reference('ServiceRequest').list('request'),
    container: backbone({
      description: text('description'),
      type: concept('type'),
      capacity: simpleQuantity('capacity'),
      specimenQuantity: simpleQuantity('specimenQuantity')
    }).list('container'),
    processing: backbone({
      description: text('description'),
      procedure: concept('procedure'),
      time: dateTime('timeDateTime', { choice: 'time' })
    }).list('processing', { about: 'What was done with it.' }),
    condition: concept.list('condition', { about: 'What is wrong with it, such as clotted.' }),
    note: note('note')
  },
  filters: {
    patientId: byReference('patient', 'Patient'),
    accessionNumber: byCode('accession'),
    collectorId: byReference('collector', ...collectors),
    parentId: byReference('parent', 'Specimen'),
    bodySite: byToken('bodysite'),
    collectedFrom: from('collected'),
    collectedTo: until('collected'),
    dateFrom: from('collected'),
    dateTo: until('collected')
  }
})
