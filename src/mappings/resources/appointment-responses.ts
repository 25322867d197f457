import { code } from '../datatypes/code.js'
import { concept } from '../datatypes/concept.js'
import { instant, text } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { byReference } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { participationStatus } from '../value-sets.js'
import { exists, type Rule } from '../core/rule.js'

const appointmentResponseRules: readonly Rule[] = [
  {
    key: 'apr-1',
    fields: ['actorId', 'participantType'],
    message: 'actorId or participantType is required',
    holds: response => exists(response, 'actor') || exists(response, 'participantType')
  }
]

const actors = [
  'Patient',
  'Practitioner',
  'PractitionerRole',
  'RelatedPerson',
  'Device',
  'HealthcareService',
  'Location'
] as const

/** http://hl7.org/fhir/R4/appointmentresponse.html */
export const appointmentResponses = mapping('AppointmentResponse', {
  path: 'appointment-responses',
  operation: 'createAppointmentResponse',
  about: 'Whether somebody who was invited to an appointment will come.',
  fields: {
    identifiers: identifiers(),
    appointmentId: reference('Appointment')('appointment', { required: true, filter: 'appointment' }),
    participantStatus: code(participationStatus)('participantStatus', { required: true, filter: 'part-status' }),
    actorId: reference(actors)('actor', { filter: 'actor', about: 'Who responds; required without participantType.' }),
    participantType: concept.list('participantType'),
    start: instant('start', { about: 'A proposed alternative time.' }),
    end: instant('end', { notBefore: 'start' }),
    comment: text('comment')
  },
  filters: {
    patientId: byReference('patient', 'Patient'),
    practitionerId: byReference('practitioner', 'Practitioner'),
    locationId: byReference('location', 'Location')
  },
  rules: appointmentResponseRules
})
