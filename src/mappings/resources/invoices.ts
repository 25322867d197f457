import { code } from '../datatypes/code.js'
import { concept } from '../datatypes/concept.js'
import { dateTime, positiveInteger, text, decimal } from '../datatypes/primitives.js'
import { money } from '../datatypes/quantities.js'
import { reference } from '../datatypes/reference.js'
import { exactlyOne } from '../fields/choice.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'

/**
 * One of the amounts or factors that make up a price:
 * http://hl7.org/fhir/R4/invoice-definitions.html#Invoice.lineItem.priceComponent
 */
const priceComponent = backbone({
  type: code(['base', 'surcharge', 'deduction', 'discount', 'tax', 'informational'])('type', { required: true }),
  code: concept('code'),
  factor: decimal('factor'),
  amount: money('amount')
})

const participants = ['Practitioner', 'Organization', 'Patient', 'PractitionerRole', 'Device', 'RelatedPerson'] as const

const lineItem = backbone({
  sequence: positiveInteger('sequence'),
  chargeItemCode: concept('chargeItemCodeableConcept', { choice: 'chargeItem' }),
  chargeItemId: reference('ChargeItem')('chargeItemReference', { choice: 'chargeItem' }),
  priceComponent: priceComponent.list('priceComponent')
}, { schema: exactlyOne('chargeItemCode', 'chargeItemId') })

/** http://hl7.org/fhir/R4/invoice.html */
export const invoices = mapping('Invoice', {
  path: 'invoices',
  operation: 'createInvoice',
  about: 'What somebody is to pay for services and goods.',
  fields: {
    identifiers: identifiers(),
    status: code(['draft', 'issued', 'balanced', 'cancelled', 'entered-in-error'])('status', {
      required: true,
      default: 'draft',
      filter: 'status'
    }),
    cancelledReason: text('cancelledReason'),
    type: concept('type', { filter: 'type' }),
    patientId: reference('Patient')('subject', { filter: 'patient' }),
    recipientId: reference(['Patient', 'Organization', 'RelatedPerson'])('recipient', {
      filter: 'recipient',
      about: 'Who is to pay.'
    }),
    issuerId: reference('Organization')('issuer', { filter: 'issuer' }),
    accountId: reference('Account')('account', { filter: 'account' }),
    date: dateTime('date', { default: now }),
    participant: backbone({
      role: concept('role'),
      actorId: reference(participants)('actor', { required: true })
    }).list('participant', { about: 'Who took part in what is billed.' }),
    lineItem: lineItem.list('lineItem'),
    totalPriceComponent: priceComponent.list('totalPriceComponent'),
    totalNet: money('totalNet', { filter: 'totalnet' }),
    totalGross: money('totalGross'),
    paymentTerms: text('paymentTerms'),
    note: note('note')
  },
  filters: { dateFrom: from('date'), dateTo: until('date') }
})
