import { code } from '../datatypes/code.js'
import { conceptOf } from '../datatypes/concept.js'
import { date, dateTime, positiveInteger, textUpTo } from '../datatypes/primitives.js'
import { money } from '../datatypes/quantities.js'
import { reference } from '../datatypes/reference.js'
import { adjudication, adjudicationTotal, processNote } from '../fields/billing.js'
import { identifiers } from '../fields/identifiers.js'
import { fromFirstItem } from '../fields/list-items.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { firstItemRule } from '../core/rule.js'
import { claimUse, financialStatus, remittanceOutcome } from '../value-sets.js'

const kind = conceptOf({ max: 200 })

/** http://hl7.org/fhir/R4/claimresponse.html */
export const claimResponses = mapping('ClaimResponse', {
  path: 'claim-responses',
  operation: 'createClaimResponse',
  about: 'What an insurer decided on a claim.',
  fields: {
    identifiers: identifiers(),
    status: code(financialStatus)('status', { required: true, filter: 'status' }),
    type: kind('type', { required: true }),
    use: code(claimUse)('use', { required: true, filter: 'use' }),
    patientId: reference('Patient')('patient', { required: true, filter: 'patient' }),
    created: dateTime('created', { required: true, default: now }),
    insurerId: reference('Organization')('insurer', { required: true }),
    requestId: reference('Claim')('request', { filter: 'request' }),
    outcome: code(remittanceOutcome)('outcome', { required: true, filter: 'outcome' }),
    disposition: textUpTo(2000)('disposition'),
    preAuthRef: textUpTo(500)('preAuthRef'),
    payeeType: kind('payeeType'),
    item: backbone({
      itemSequence: positiveInteger('itemSequence', { required: true }),
      adjudication: adjudication.list('adjudication', { required: true })
    }).list('item', { maxItems: 50, about: 'The decisions on the lines of the claim.' }),
    total: adjudicationTotal.list('total', { maxItems: 10, about: 'The sums of all lines.' }),
    payment: backbone({
      type: kind('type', { required: true }),
      amount: money('amount', { required: true }),
      date: date('date')
    })('payment'),
    processNote: processNote.list('processNote', { maxItems: 20, about: 'Remarks of the insurer.' }),
    note: fromFirstItem(
      'processNote',
      textUpTo(5000)('text', { shortcutOf: 'processNote', about: 'The text of the first processNote.' })
    )
  },
  rules: [firstItemRule({ field: 'note', list: 'processNote', part: 'text', full: 'processNote' })]
})
