import { isNarrative, narrative } from '../fields/narrative.js'
import type { FhirElement } from '../fhir.js'
import { getAt, isElement, itemsAt } from '../core/path.js'
import { exists, type Rule } from '../core/rule.js'
import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept, type ConceptValue } from '../datatypes/concept.js'
import { dateTime, text } from '../datatypes/primitives.js'
import { anyReference, reference } from '../datatypes/reference.js'
import { oneIdentifier } from '../fields/identifiers.js'
import { recursiveList } from '../fields/list-items.js'
import { from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone, recursiveBackbone } from '../core/structure.js'
import { compositionStatus, documentRelations } from '../value-sets.js'

const compositionRules: readonly Rule[] = [
  {
    key: 'author 1..*',
    fields: ['authorIds'],
    message: 'a document needs an author',
    holds: composition => itemsAt(composition, 'author').length > 0
  },
  {
    key: 'cmp-1',
    fields: ['sections'],
    message: 'each section needs text, resourceIds or sections',
    holds: composition =>
      listSections(composition).every(section => ['text', 'entry', 'section'].some(part => exists(section, part)))
  },
  {
    key: 'cmp-2',
    fields: ['sections'],
    message: 'a section with a stored reason why it is empty cannot have resourceIds',
    holds: composition =>
      listSections(composition).every(section => !(exists(section, 'emptyReason') && exists(section, 'entry')))
  },
  {
    key: 'txt-1',
    fields: ['sections'],
    message: 'XHTML must be well-formed, use only formatting elements and attributes, and contain visible content',
    holds: composition =>
      listSections(composition)
        .map(section => getAt(section, 'text.div'))
        .every(div => typeof div !== 'string' || isNarrative(div))
  }
]

function listSections (holder: FhirElement): FhirElement[] {
  return itemsAt(holder, 'section').filter(isElement).flatMap(section => [section, ...listSections(section)])
}

/** A part of a document, with the records that it is about and parts of its own. */
interface Section {
  readonly title?: string
  readonly code?: ConceptValue
  readonly text?: string
  readonly resourceIds?: readonly string[]
  readonly authorId?: string
  readonly mode?: 'working' | 'snapshot' | 'changes'
  readonly sections?: readonly Section[]
}

const author = reference(['Practitioner', 'PractitionerRole', 'Device', 'Patient', 'RelatedPerson', 'Organization'])

const section = recursiveBackbone<Section>('Section', self => ({
  title: text('title'),
  code: concept('code'),
  text: narrative('text', { about: 'Plain text, or XHTML in one div.' }),
  resourceIds: anyReference.list('entry'),
  authorId: author.first('author'),
  mode: code(['working', 'snapshot', 'changes'])('mode'),
  sections: self.list('section')
}))

/** http://hl7.org/fhir/R4/composition.html */
export const documents = mapping('Composition', {
  path: 'documents',
  operation: 'createDocument',
  about: 'A document made of sections, such as a discharge summary.',
  fields: {
    identifier: oneIdentifier(),
    status: code(compositionStatus)('status', { required: true, default: 'final', filter: 'status' }),
    type: concept('type', { required: true, filter: 'type', about: 'The kind of document; LOINC preferred.' }),
    category: concept.list('category', { filter: 'category' }),
    title: text('title', { required: true, filter: 'title' }),
    date: dateTime('date', { required: true, default: now, filter: 'date' }),
    practitionerId: author.first('author', {
      required: true,
      filter: 'author',
      shortcutOf: 'authorIds',
      about: 'The first author.'
    }),
    authorIds: author.list('author', { about: 'All authors.' }),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    encounterId: reference('Encounter')('encounter', { filter: 'encounter' }),
    sections: recursiveList(section, 'section'),
    confidentiality: code(['U', 'L', 'M', 'N', 'R', 'V'])('confidentiality', {
      filter: 'confidentiality',
      about: 'From unrestricted to very restricted.'
    }),
    attester: backbone(
      {
        mode: code(['personal', 'professional', 'legal', 'official'])('mode', { required: true }),
        time: dateTime('time'),
        partyId: reference(['Patient', 'RelatedPerson', 'Practitioner', 'PractitionerRole', 'Organization'])('party')
      },
      { identity: ['partyId'] }
    ).list('attester', { about: 'Who attests to the document.' }),
    custodianId: reference('Organization')('custodian'),
    relatesTo: backbone(
      {
        code: code(documentRelations)('code', { required: true }),
        targetId: reference('Composition')('targetReference', { required: true, choice: 'target' })
      },
      { where: related => related.targetReference !== undefined }
    ).list('relatesTo', { about: 'The documents that it replaces, signs or adds to.' }),
    event: backbone({
      code: concept.list('code'),
      period: period('period'),
      detailIds: anyReference.list('detail')
    }).list('event', { about: 'The care that the document describes.' })
  },
  filters: { dateFrom: from('date'), dateTo: until('date') },
  rules: compositionRules
})
