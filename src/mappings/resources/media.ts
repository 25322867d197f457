import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept, conceptOf, toKnownCodes } from '../datatypes/concept.js'
import { base64, dateTime, decimal, instantOrDay, openCode, positiveInteger, text, textUpTo, unsignedInteger, uri } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { byReference, from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { record } from '../core/structure.js'
import { eventStatus } from '../value-sets.js'

const subjects = ['Patient', 'Practitioner', 'PractitionerRole', 'Group', 'Device', 'Specimen', 'Location'] as const
const operators = [
  'Practitioner',
  'PractitionerRole',
  'Organization',
  'CareTeam',
  'Patient',
  'Device',
  'RelatedPerson'
] as const
const mediaTypes = toKnownCodes('http://terminology.hl7.org/CodeSystem/media-type', {
  image: 'Image',
  video: 'Video',
  audio: 'Audio'
})

const content = record({
  contentType: openCode('contentType', { required: true }),
  data: base64('data'),
  url: uri('url'),
  title: text('title'),
  size: unsignedInteger('size', { about: 'In bytes.' }),
  hash: base64('hash', { about: 'SHA-1 of the content.' })
})

/** http://hl7.org/fhir/R4/media.html */
export const media = mapping('Media', {
  path: 'media',
  operation: 'createMedia',
  about: 'A photo, video or recording.',
  fields: {
    identifiers: identifiers(),
    status: code(eventStatus)('status', { required: true, default: 'completed', filter: 'status' }),
    content: content('content', { required: true, about: 'The content itself, or where it is.' }),
    type: conceptOf({ known: mediaTypes })('type', { filter: 'type' }),
    patientId: reference(subjects)('subject', { about: 'Whom or what it shows.' }),
    createdDateTime: dateTime('createdDateTime', { choice: 'created', about: 'When it was made.' }),
    createdPeriod: period('createdPeriod', { choice: 'created' }),
    issued: instantOrDay('issued'),
    encounterId: reference('Encounter')('encounter', { filter: 'encounter' }),
    operatorId: reference(operators)('operator', { filter: 'operator', about: 'Who made it.' }),
    modality: concept('modality', { filter: 'modality' }),
    view: concept('view', { filter: 'view', about: 'Such as lateral.' }),
    bodySite: concept('bodySite', { filter: 'site' }),
    reasonCode: concept.list('reasonCode'),
    deviceId: reference(['Device', 'DeviceMetric'])('device', { filter: 'device' }),
    deviceName: textUpTo(500)('deviceName'),
    height: positiveInteger('height', { about: 'In pixels.' }),
    width: positiveInteger('width', { about: 'In pixels.' }),
    frames: positiveInteger('frames'),
    duration: decimal('duration', { about: 'In seconds.' }),
    basedOn: reference(['ServiceRequest', 'CarePlan']).list('basedOn'),
    note: note('note')
  },
  filters: { patientId: byReference('patient', 'Patient'), dateFrom: from('created'), dateTo: until('created') }
})
