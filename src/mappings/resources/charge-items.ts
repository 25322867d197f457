import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept, conceptOf } from '../datatypes/concept.js'
import { dateTime, textUpTo } from '../datatypes/primitives.js'
import { money, quantityWithComparator } from '../datatypes/quantities.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { from, noParameter, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'

const performers = [
  'Practitioner',
  'PractitionerRole',
  'Organization',
  'CareTeam',
  'Patient',
  'Device',
  'RelatedPerson'
] as const

/** http://hl7.org/fhir/R4/chargeitem.html */
export const chargeItems = mapping('ChargeItem', {
  path: 'charge-items',
  operation: 'createChargeItem',
  about: 'A service or product for which a patient is charged.',
  fields: {
    identifiers: identifiers(),
    status: code(['planned', 'billable', 'not-billable', 'aborted', 'billed', 'entered-in-error', 'unknown'])(
      'status',
      { required: true, filter: noParameter }
    ),
    code: concept('code', { required: true, filter: 'code' }),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    encounterId: reference(['Encounter', 'EpisodeOfCare'])('context'),
    occurrenceDateTime: dateTime('occurrenceDateTime', { choice: 'occurrence' }),
    occurrencePeriod: period('occurrencePeriod', { choice: 'occurrence' }),
    performer: backbone({
      function: conceptOf({ max: 200 })('function'),
      actorId: reference(performers)('actor', { required: true })
    }).list('performer', { maxItems: 20, about: 'Who rendered the service.' }),
    performingOrganizationId: reference('Organization')('performingOrganization'),
    requestingOrganizationId: reference('Organization')('requestingOrganization'),
    quantity: quantityWithComparator('quantity'),
    bodySite: conceptOf({ max: 500 }).list('bodysite', { maxItems: 10, about: 'Where in or on the body.' }),
    priceOverride: money('priceOverride', { about: 'The price that replaces the list price.' }),
    overrideReason: textUpTo(2000)('overrideReason'),
    enteredDate: dateTime('enteredDate'),
    reason: conceptOf({ max: 500 }).list('reason', { maxItems: 10, about: 'Why the service was rendered.' }),
    accountIds: reference('Account').list('account', { maxItems: 10, about: 'Where it is charged.' }),
    note: note('note', { max: 5000 })
  },
  filters: { dateFrom: from('occurrence'), dateTo: until('occurrence') }
})
