import { code } from '../datatypes/code.js'
import { dateTime, text } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { noParameter } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { financialStatus, remittanceOutcome } from '../value-sets.js'

/** http://hl7.org/fhir/R4/enrollmentresponse.html */
export const enrollmentResponses = mapping('EnrollmentResponse', {
  path: 'enrollment-responses',
  operation: 'createEnrollmentResponse',
  about: 'An insurer’s answer to a request for enrollment.',
  fields: {
    identifiers: identifiers(),
    requestId: reference('EnrollmentRequest')('request', { filter: 'request' }),
    status: code(financialStatus)('status', { default: 'active', filter: 'status' }),
    outcome: code(remittanceOutcome)('outcome', { filter: noParameter }),
    disposition: text('disposition', { about: 'The outcome in words.' }),
    created: dateTime('created', { default: now }),
    organizationId: reference('Organization')('organization', { about: 'Who answers.' }),
    requestProviderId: reference(['Practitioner', 'PractitionerRole', 'Organization'])('requestProvider')
  }
})
