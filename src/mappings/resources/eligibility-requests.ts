import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { conceptOf } from '../datatypes/concept.js'
import { boolean, date, dateTime } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { eligibilityPurpose, financialStatus } from '../value-sets.js'

const service = conceptOf({ max: 500 })

/** http://hl7.org/fhir/R4/coverageeligibilityrequest.html */
export const eligibilityRequests = mapping('CoverageEligibilityRequest', {
  path: 'eligibility-requests',
  operation: 'createEligibilityRequest',
  about: 'A question to an insurer about what a patient’s coverage pays for.',
  fields: {
    identifiers: identifiers(),
    status: code(financialStatus)('status', { required: true, filter: 'status' }),
    purpose: code(eligibilityPurpose).list('purpose', { required: true, maxItems: 10 }),
    patientId: reference('Patient')('patient', { required: true, filter: 'patient' }),
    created: dateTime('created', { required: true, default: now }),
    insurerId: reference('Organization')('insurer', { required: true }),
    providerId: reference(['Practitioner', 'PractitionerRole', 'Organization'])('provider'),
    servicedDate: date('servicedDate', { choice: 'serviced' }),
    servicedPeriod: period('servicedPeriod', { choice: 'serviced' }),
    insurance: backbone({
      focal: boolean('focal', { about: 'Whether the question is about this coverage.' }),
      coverageId: reference('Coverage')('coverage', { required: true })
    }).list('insurance', { maxItems: 10, about: 'The coverages of the patient.' }),
    item: backbone({ category: service('category'), productOrService: service('productOrService') }).list(
      'item', { maxItems: 25, about: 'The services in question.' })
  },
  filters: { dateFrom: from('created'), dateTo: until('created') }
})
