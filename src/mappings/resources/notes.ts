import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept, conceptOf } from '../datatypes/concept.js'
import { instantOrDay } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { noteContent, noteContentType, noteTitle } from '../fields/note-content.js'
import { from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { compositionStatus, documentRelations, noteCategories, noteTypes } from '../value-sets.js'
import { isElement, itemsAt } from '../core/path.js'
import { exists, type Rule } from '../core/rule.js'

const documentReferenceRules: readonly Rule[] = [
  {
    key: 'content 1..*',
    fields: ['content', 'contentType'],
    message: 'a note needs content',
    holds: note => itemsAt(note, 'content').length > 0
  },
  {
    key: 'att-1',
    fields: ['contentType'],
    message: 'cannot be removed while the content has data',
    holds: note => itemsAt(note, 'content').map(content => isElement(content) ? content.attachment : undefined)
      .every(attachment => !isElement(attachment) || !exists(attachment, 'data') || exists(attachment, 'contentType'))
  }
]

/** http://hl7.org/fhir/R4/documentreference.html */
export const notes = mapping('DocumentReference', {
  path: 'notes',
  operation: 'createNote',
  about: 'A clinical note or another document about a patient.',
  fields: {
    identifiers: identifiers(),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    content: noteContent,
    contentType: noteContentType,
    title: noteTitle,
    status: code(['current', 'superseded', 'entered-in-error'])('status', {
      required: true,
      default: 'current',
      filter: 'status'
    }),
    docStatus: code(compositionStatus)('docStatus', { default: 'final', about: 'The status of the document itself.' }),
    type: conceptOf({ known: noteTypes })('type', { filter: 'type' }),
    category: conceptOf({ known: noteCategories }).list('category', { filter: 'category' }),
    date: instantOrDay('date', { default: now, filter: 'date' }),
    authorId: reference([
      'Practitioner',
      'PractitionerRole',
      'Organization',
      'Device',
      'Patient',
      'RelatedPerson'
    ]).first('author', { filter: 'author' }),
    authenticatorId: reference(['Practitioner', 'PractitionerRole', 'Organization'])('authenticator', {
      about: 'Who attests to it.'
    }),
    custodianId: reference('Organization')('custodian', { filter: 'custodian' }),
    encounterId: reference('Encounter').first('context.encounter', { filter: 'encounter' }),
    servicePeriod: period('context.period', { about: 'When the documented care took place.' }),
    facilityType: concept('context.facilityType'),
    practiceSetting: concept('context.practiceSetting'),
    relatesTo: backbone({
      code: code(documentRelations)('code', { required: true }),
      targetId: reference('DocumentReference')('target', { required: true })
    }).list('relatesTo', { about: 'The documents that it replaces, signs or adds to.' }),
    securityLabel: concept.list('securityLabel')
  },
  filters: { dateFrom: from('date'), dateTo: until('date'), periodFrom: from('period') },
  rules: documentReferenceRules
})
