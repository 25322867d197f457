import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { dateTime } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { noParameter } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'

/** http://hl7.org/fhir/R4/deviceusestatement.html */
export const deviceUseStatements = mapping('DeviceUseStatement', {
  path: 'device-use-statements',
  operation: 'createDeviceUseStatement',
  about: 'A report that a patient uses a device.',
  fields: {
    identifiers: identifiers(),
    status: code(['active', 'completed', 'entered-in-error', 'intended', 'stopped', 'on-hold'])('status', {
      required: true,
      default: 'active',
      filter: noParameter
    }),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    deviceId: reference('Device')('device', { required: true, filter: 'device' }),
    timingDateTime: dateTime('timingDateTime', { choice: 'timing', about: 'When it is used.' }),
    timingPeriod: period('timingPeriod', { choice: 'timing' }),
    recordedOn: dateTime('recordedOn', { default: now }),
    sourceId: reference(['Patient', 'Practitioner', 'PractitionerRole', 'RelatedPerson'])('source', {
      about: 'Who reports it.'
    }),
    reasonCode: concept.list('reasonCode'),
    reasonReferenceIds: reference(['Condition', 'Observation', 'DiagnosticReport', 'DocumentReference', 'Media']).list(
      'reasonReference'
    ),
    bodySite: concept('bodySite'),
    basedOn: reference('ServiceRequest').list('basedOn'),
    derivedFromIds: reference([
      'ServiceRequest',
      'Procedure',
      'Claim',
      'Observation',
      'QuestionnaireResponse',
      'DocumentReference'
    ]).list('derivedFrom'),
    note: note('note')
  }
})
