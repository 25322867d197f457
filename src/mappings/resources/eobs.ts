import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { conceptOf } from '../datatypes/concept.js'
import { boolean, date, dateTime, textUpTo } from '../datatypes/primitives.js'
import { money } from '../datatypes/quantities.js'
import { reference } from '../datatypes/reference.js'
import { adjudication, adjudicationTotal, processNote, billedItem } from '../fields/billing.js'
import { identifiers } from '../fields/identifiers.js'
import { noParameter } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { claimUse, financialStatus, remittanceOutcome } from '../value-sets.js'

const kind = conceptOf({ max: 200 })

/** http://hl7.org/fhir/R4/explanationofbenefit.html */
export const eobs = mapping('ExplanationOfBenefit', {
  path: 'eobs',
  operation: 'createEOB',
  about: 'What was claimed, what the insurer pays and what the patient pays.',
  fields: {
    identifiers: identifiers(),
    status: code(financialStatus)('status', { required: true, filter: 'status' }),
    type: kind('type', { required: true }),
    use: code(claimUse)('use', { required: true, filter: noParameter }),
    patientId: reference('Patient')('patient', { required: true, filter: 'patient' }),
    created: dateTime('created', { required: true, default: now }),
    insurerId: reference('Organization')('insurer', { required: true }),
    providerId: reference(['Practitioner', 'PractitionerRole', 'Organization'])('provider', { required: true }),
    outcome: code(remittanceOutcome)('outcome', { required: true, filter: noParameter }),
    disposition: textUpTo(2000)('disposition'),
    claimId: reference('Claim')('claim', { filter: 'claim' }),
    claimResponseId: reference('ClaimResponse')('claimResponse'),
    billablePeriod: period('billablePeriod'),
    insurance: backbone({
      focal: boolean('focal', { required: true, about: 'Whether this is the coverage that paid.' }),
      coverageId: reference('Coverage')('coverage', { required: true })
    }).list('insurance', { required: true, maxItems: 10 }),
    item: backbone({
      ...billedItem,
      adjudication: adjudication.list('adjudication', { maxItems: 20, about: 'What the insurer decided on the line.' })
    }).list('item', { maxItems: 50, about: 'The lines of the bill.' }),
    total: adjudicationTotal.list('total', { maxItems: 10, about: 'The sums of all lines.' }),
    payment: backbone({ type: kind('type'), amount: money('amount'), date: date('date') })('payment'),
    processNote: processNote.list('processNote', { maxItems: 20, about: 'Remarks of the insurer.' })
  }
})
