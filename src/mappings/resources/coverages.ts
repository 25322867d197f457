import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { conceptOf } from '../datatypes/concept.js'
import { boolean, positiveInteger, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { byReference } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { financialStatus } from '../value-sets.js'

const payors = ['Organization', 'Patient', 'RelatedPerson'] as const

/** http://hl7.org/fhir/R4/coverage.html */
export const coverages = mapping('Coverage', {
  path: 'coverages',
  operation: 'createCoverage',
  about: 'A patient’s insurance, or someone else’s promise to pay.',
  fields: {
    identifiers: identifiers(),
    status: code(financialStatus)('status', { required: true, filter: 'status' }),
    patientId: reference('Patient')('beneficiary', { required: true, filter: 'patient' }),
    type: conceptOf({ max: 200 })('type', { filter: 'type' }),
    subscriberId: textUpTo(200)('subscriberId', { about: 'The number that the insurer gave the subscriber.' }),
    subscriberRef: reference(['Patient', 'RelatedPerson'])('subscriber', { about: 'Who signed for the insurance.' }),
    policyHolderRef: reference(['Patient', 'RelatedPerson', 'Organization'])('policyHolder', {
      about: 'Who owns the policy.'
    }),
    relationship: conceptOf({ max: 100 })('relationship', {
      about: 'Relationship of the patient to the subscriber, such as self or child.'
    }),
    period: period('period'),
    payorIds: reference(payors).list('payor', { required: true, maxItems: 10 }),
    class: backbone({
      type: conceptOf({ max: 200 })('type', { required: true }),
      value: textUpTo(200)('value', { required: true }),
      name: textUpTo(500)('name')
    }).list('class', { maxItems: 20, about: 'The group, plan and other classes that the insurer uses.' }),
    order: positiveInteger('order', { about: 'Order in which the patient’s coverages pay, from 1.' }),
    network: textUpTo(500)('network'),
    dependent: textUpTo(200)('dependent'),
    subrogation: boolean('subrogation')
  },
  filters: { payorId: byReference('payor', ...payors) }
})
