import { code } from '../datatypes/code.js'
import { codingOf } from '../datatypes/coding.js'
import { concept, toKnownCodes } from '../datatypes/concept.js'
import { dateTime, text, unsignedInteger } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { dicomSystem, dicomUid, oidPrefix, studyUid, identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { byReference, byToken, from, noParameter, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { dicomCodes } from '../value-sets.js'

const radiologists = ['Practitioner', 'PractitionerRole'] as const

/**
 * The kinds of equipment that clients send as bare letters. XR is not a DICOM code: DICOM distinguishes how an X-ray
 * was read out.
 */
const modalities = {
  ...toKnownCodes(dicomCodes, {
    CT: 'Computed Tomography',
    MR: 'Magnetic Resonance',
    US: 'Ultrasound',
    DX: 'Digital Radiography',
    CR: 'Computed Radiography',
    MG: 'Mammography',
    NM: 'Nuclear Medicine',
    PT: 'Positron emission tomography',
    RF: 'Radiofluoroscopy',
    XA: 'X-Ray Angiography',
    ES: 'Endoscopy',
    ECG: 'Electrocardiography'
  }),
  XR: { code: 'XR', display: 'Radiography' }
}
const modality = codingOf(modalities)
const coding = codingOf()

/** http://hl7.org/fhir/R4/imagingstudy.html */
export const imagingStudies = mapping('ImagingStudy', {
  path: 'imaging-studies',
  operation: 'createImagingStudy',
  about: 'The images of one examination of a patient.',
  fields: {
    identifiers: identifiers(dicomSystem),
    status: code(['registered', 'available', 'cancelled', 'entered-in-error', 'unknown'])('status', {
      required: true,
      default: 'available',
      filter: 'status'
    }),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    studyUid: studyUid({ about: 'The Study Instance UID of DICOM.', example: '1.2.840.113619.2.55.3.604688119' }),
    modality: modality.list('modality', {
      filter: noParameter,
      about: 'All kinds of equipment.'
    }),
    started: dateTime('started'),
    description: text('description'),
    encounterId: reference('Encounter')('encounter', { filter: 'encounter' }),
    referrerId: reference(radiologists)('referrer', { filter: 'referrer' }),
    interpreterIds: reference(radiologists).list('interpreter'),
    procedureCode: concept.list('procedureCode'),
    reasonCode: concept.list('reasonCode'),
    basedOn: reference(['CarePlan', 'ServiceRequest', 'Appointment', 'AppointmentResponse', 'Task']).list('basedOn'),
    numberOfSeries: unsignedInteger('numberOfSeries'),
    numberOfInstances: unsignedInteger('numberOfInstances'),
    series: backbone({
      uid: dicomUid('uid', { required: true }),
      modality: modality('modality', { required: true }),
      number: unsignedInteger('number'),
      description: text('description'),
      numberOfInstances: unsignedInteger('numberOfInstances'),
      bodySite: coding('bodySite', { searched: true }),
      laterality: coding('laterality'),
      started: dateTime('started'),
      instance: backbone({
        uid: dicomUid('uid', { required: true }),
        sopClass: coding('sopClass', { required: true }),
        number: unsignedInteger('number'),
        title: text('title')
      }).list('instance')
    }).list('series', { about: 'The images that one piece of equipment made in one run.' }),
    locationId: reference('Location')('location'),
    endpointIds: reference('Endpoint').list('endpoint', { about: 'Where the images can be fetched.' }),
    note: note('note')
  },
  filters: {
    // R4's own parameter searches only the series.
    modality: { param: noParameter, kind: 'token', aliases: modalities, paths: ['modality', 'series.modality'] },
    studyUid: { param: 'identifier', kind: 'token', prefix: `${dicomSystem}|${oidPrefix}` },
    interpreterId: byReference('interpreter', ...radiologists),
    bodySite: byToken('bodysite'),
    dateFrom: from('started'),
    dateTo: until('started')
  }
})
