import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { conceptOf } from '../datatypes/concept.js'
import { boolean, dateTime, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { eligibilityPurpose, financialStatus, remittanceOutcome } from '../value-sets.js'

/** http://hl7.org/fhir/R4/coverageeligibilityresponse.html */
export const eligibilityResponses = mapping('CoverageEligibilityResponse', {
  path: 'eligibility-responses',
  operation: 'createEligibilityResponse',
  about: 'What a patient’s coverage pays for, as the insurer answers.',
  fields: {
    identifiers: identifiers(),
    status: code(financialStatus)('status', { required: true, filter: 'status' }),
    purpose: code(eligibilityPurpose).list('purpose', { required: true, maxItems: 10 }),
    patientId: reference('Patient')('patient', { required: true, filter: 'patient' }),
    created: dateTime('created', { required: true, default: now }),
    requestId: reference('CoverageEligibilityRequest')('request', { required: true, filter: 'request' }),
    outcome: code(remittanceOutcome)('outcome', { required: true, filter: 'outcome' }),
    insurerId: reference('Organization')('insurer', { required: true }),
    disposition: textUpTo(2000)('disposition'),
    insurance: backbone({
      coverageId: reference('Coverage')('coverage', { required: true }),
      inforce: boolean('inforce'),
      benefitPeriod: period('benefitPeriod')
    }).list('insurance', { maxItems: 10, about: 'The coverages of the patient, and whether they are in force.' }),
    preAuthRef: textUpTo(500)('preAuthRef'),
    error: backbone({ code: conceptOf({ max: 500 })('code', { required: true }) }).list('error', {
      maxItems: 20,
      about: 'What was wrong with the request.'
    })
  }
})
