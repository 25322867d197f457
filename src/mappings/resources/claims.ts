import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { conceptOf } from '../datatypes/concept.js'
import { boolean, dateTime, positiveInteger, text } from '../datatypes/primitives.js'
import { money } from '../datatypes/quantities.js'
import { reference } from '../datatypes/reference.js'
import { billedItem } from '../fields/billing.js'
import { identifiers } from '../fields/identifiers.js'
import { inMatchingItem } from '../fields/list-items.js'
import { canonicalJson } from '../core/canonical-json.js'
import { from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { claimUse, financialStatus } from '../value-sets.js'

const sequence = positiveInteger('sequence', { required: true })
const clinical = conceptOf({ max: 500 })

/** R4's Claim has no note: what the insurer should know is information of this category. */
const noteCategory = {
  coding: [{ system: 'http://terminology.hl7.org/CodeSystem/claiminformationcategory', code: 'info' }]
}

/** http://hl7.org/fhir/R4/claim.html */
export const claims = mapping('Claim', {
  path: 'claims',
  operation: 'createClaim',
  about: 'What a provider asks an insurer to pay for.',
  fields: {
    identifiers: identifiers(),
    status: code(financialStatus)('status', { required: true, filter: 'status' }),
    type: conceptOf({ max: 200 })('type', {
      required: true,
      about: 'Such as professional, institutional or pharmacy.'
    }),
    use: code(claimUse)('use', { required: true, filter: 'use' }),
    patientId: reference('Patient')('patient', { required: true, filter: 'patient' }),
    created: dateTime('created', { required: true, default: now }),
    providerId: reference(['Practitioner', 'PractitionerRole', 'Organization'])('provider', {
      required: true,
      filter: 'provider'
    }),
    insurerId: reference('Organization')('insurer'),
    priority: conceptOf({ max: 50 })('priority', {
      required: true,
      about: 'How soon it is to be processed, such as normal or stat.'
    }),
    billablePeriod: period('billablePeriod'),
    diagnosis: backbone(
      { sequence, code: clinical('diagnosisCodeableConcept', { required: true, choice: 'diagnosis' }) },
      { where: diagnosis => diagnosis.diagnosisCodeableConcept !== undefined }
    ).list('diagnosis', { maxItems: 25, about: 'The diagnoses by their codes.' }),
    procedure: backbone(
      {
        sequence,
        code: clinical('procedureCodeableConcept', { required: true, choice: 'procedure' }),
        date: dateTime('date')
      },
      { where: procedure => procedure.procedureCodeableConcept !== undefined }
    ).list('procedure', { maxItems: 25, about: 'The procedures by their codes.' }),
    insurance: backbone({
      sequence,
      focal: boolean('focal', { required: true, about: 'Whether this is the coverage that is to pay.' }),
      coverageId: reference('Coverage')('coverage', { required: true })
    }).list('insurance', { required: true, maxItems: 10 }),
    item: backbone(billedItem).list('item', { maxItems: 50, about: 'The lines of the bill.' }),
    total: money('total'),
    note: inMatchingItem(
      'supportingInfo',
      {
        find: info => info.valueString !== undefined && canonicalJson(info.category) === canonicalJson(noteCategory),
        create: { sequence: 1, category: noteCategory }
      },
      text('valueString', { about: 'What the insurer should know as well, in words.' })
    )
  },
  filters: { dateFrom: from('created'), dateTo: until('created') }
})
