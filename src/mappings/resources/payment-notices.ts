import { code } from '../datatypes/code.js'
import { conceptOf, toKnownCodes } from '../datatypes/concept.js'
import { date, dateTime } from '../datatypes/primitives.js'
import { money } from '../datatypes/quantities.js'
import { anyReference, reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { financialStatus } from '../value-sets.js'

const provider = reference(['Practitioner', 'PractitionerRole', 'Organization'])
const paymentStatus = toKnownCodes('http://terminology.hl7.org/CodeSystem/paymentstatus', {
  paid: 'Paid',
  cleared: 'Cleared'
})

/** http://hl7.org/fhir/R4/paymentnotice.html */
export const paymentNotices = mapping('PaymentNotice', {
  path: 'payment-notices',
  operation: 'createPaymentNotice',
  about: 'A notice that a payment was made or received.',
  fields: {
    identifiers: identifiers(),
    status: code(financialStatus)('status', { required: true, default: 'active', filter: 'status' }),
    created: dateTime('created', { required: true, default: now }),
    paymentId: reference('PaymentReconciliation')('payment', { required: true }),
    recipientId: reference('Organization')('recipient', { required: true, about: 'Who is told.' }),
    amount: money('amount', { required: true }),
    paymentDate: date('paymentDate'),
    paymentStatus: conceptOf({ known: paymentStatus })('paymentStatus', { filter: 'payment-status' }),
    providerId: provider('provider', { filter: 'provider' }),
    payeeId: provider('payee', { about: 'Who was paid.' }),
    requestId: anyReference('request', { filter: 'request', about: 'What the payment is for, such as Claim/123.' }),
    responseId: anyReference('response', {
      filter: 'response',
      about: 'The response to that, such as ClaimResponse/123.'
    })
  },
  filters: {
    createdFrom: from('created'),
    createdTo: until('created'),
    dateFrom: from('created'),
    dateTo: until('created')
  }
})
