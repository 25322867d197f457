import { code } from '../datatypes/code.js'
import { identifier, period } from '../datatypes/complex.js'
import { conceptOf, toKnownCodes } from '../datatypes/concept.js'
import { date, dateTime, text } from '../datatypes/primitives.js'
import { money } from '../datatypes/quantities.js'
import { anyReference, reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { financialStatus, remittanceOutcome } from '../value-sets.js'

const provider = reference(['Practitioner', 'PractitionerRole', 'Organization'])
const paymentTypes = toKnownCodes('http://terminology.hl7.org/CodeSystem/payment-type', {
  payment: 'Payment',
  adjustment: 'Adjustment',
  advance: 'Advance'
})

/** http://hl7.org/fhir/R4/paymentreconciliation.html */
export const paymentReconciliations = mapping('PaymentReconciliation', {
  path: 'payment-reconciliations',
  operation: 'createPaymentReconciliation',
  about: 'An insurer’s payment, allocated to the claims that it covers.',
  fields: {
    identifiers: identifiers(),
    status: code(financialStatus)('status', { required: true, default: 'active', filter: 'status' }),
    created: dateTime('created', { required: true, default: now }),
    paymentDate: date('paymentDate', { required: true }),
    paymentAmount: money('paymentAmount', { required: true }),
    paymentIssuerId: reference('Organization')('paymentIssuer', { filter: 'payment-issuer', about: 'Who pays.' }),
    requestId: reference('Task')('request', { filter: 'request', about: 'The request that the payment answers.' }),
    requestorId: provider('requestor', { filter: 'requestor' }),
    outcome: code(remittanceOutcome)('outcome', { filter: 'outcome' }),
    disposition: text('disposition', { filter: 'disposition', about: 'The outcome in words.' }),
    period: period('period', { about: 'The time of the claims that are paid.' }),
    paymentIdentifier: identifier('paymentIdentifier', { about: 'The number of the cheque or transfer.' }),
    detail: backbone({
      type: conceptOf({ known: paymentTypes })('type', { required: true }),
      requestId: anyReference('request'),
      responseId: anyReference('response'),
      submitterId: provider('submitter'),
      payeeId: provider('payee'),
      date: date('date'),
      amount: money('amount')
    }).list('detail', { about: 'The parts of the payment.' }),
    processNote: backbone({
      type: code(['display', 'print', 'printoper'])('type'),
      text: text('text', { required: true })
    }).list('processNote', { about: 'Remarks for those who work on the payment.' })
  },
  filters: {
    createdFrom: from('created'),
    createdTo: until('created'),
    dateFrom: from('created'),
    dateTo: until('created')
  }
})
