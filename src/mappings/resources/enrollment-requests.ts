import { code } from '../datatypes/code.js'
import { dateTime } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { noParameter } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { financialStatus } from '../value-sets.js'

/** http://hl7.org/fhir/R4/enrollmentrequest.html */
export const enrollmentRequests = mapping('EnrollmentRequest', {
  path: 'enrollment-requests',
  operation: 'createEnrollmentRequest',
  about: 'A request to an insurer to enroll someone in a coverage.',
  fields: {
    identifiers: identifiers(),
    candidateId: reference('Patient')('candidate', {
      required: true,
      filter: 'patient',
      alias: 'patientId',
      about: 'Who is to be enrolled; may be sent as patientId.'
    }),
    status: code(financialStatus)('status', { default: 'active', filter: 'status' }),
    created: dateTime('created', { default: now }),
    insurerId: reference('Organization')('insurer', { filter: noParameter }),
    providerId: reference(['Practitioner', 'PractitionerRole', 'Organization'])('provider', {
      about: 'Who asks for it.'
    }),
    coverageId: reference('Coverage')('coverage')
  }
})
