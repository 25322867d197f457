import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { boolean, dateTime, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { byReference, from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { requestIntent, requestPriority, requestStatus } from '../value-sets.js'
import { exists, type Rule } from '../core/rule.js'

const serviceRequestRules: readonly Rule[] = [
  {
    key: 'prr-1',
    fields: ['code'],
    message: 'cannot be removed while the request has order details',
    holds: request => !exists(request, 'orderDetail') || exists(request, 'code')
  }
]

const performers = [
  'Practitioner',
  'PractitionerRole',
  'Organization',
  'CareTeam',
  'HealthcareService',
  'Patient',
  'Device',
  'RelatedPerson'
] as const

/** http://hl7.org/fhir/R4/servicerequest.html */
export const serviceRequests = mapping('ServiceRequest', {
  path: 'service-requests',
  operation: 'createServiceRequest',
  about: 'An order or a plan for an examination, a treatment or a referral.',
  fields: {
    identifiers: identifiers(),
    status: code(requestStatus)('status', { required: true, filter: 'status' }),
    intent: code(requestIntent)('intent', { required: true }),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    encounterId: reference('Encounter')('encounter'),
    code: concept('code', { filter: 'code', about: 'What is asked for.' }),
    category: concept.list('category', { filter: 'category' }),
    priority: code(requestPriority)('priority', { filter: 'priority' }),
    doNotPerform: boolean('doNotPerform', { about: 'True when it must not be done.' }),
    occurrenceDateTime: dateTime('occurrenceDateTime', { choice: 'occurrence' }),
    occurrencePeriod: period('occurrencePeriod', { choice: 'occurrence' }),
    asNeeded: boolean('asNeededBoolean', { choice: 'asNeeded' }),
    authoredOn: dateTime('authoredOn'),
    requesterId: reference(['Practitioner', 'PractitionerRole', 'Organization', 'Patient', 'RelatedPerson', 'Device'])(
      'requester',
      { filter: 'requester' }
    ),
    performerType: concept('performerType'),
    performerIds: reference(performers).list('performer'),
    reasonCode: concept.list('reasonCode'),
    bodySite: concept.list('bodySite'),
    note: note('note', { max: 2000 }),
    patientInstruction: textUpTo(2000)('patientInstruction'),
    basedOn: reference(['CarePlan', 'ServiceRequest', 'MedicationRequest']).list('basedOn'),
    replaces: reference('ServiceRequest').list('replaces')
  },
  filters: {
    performerId: byReference('performer', ...performers),
    dateFrom: from('authored'),
    dateTo: until('authored')
  },
  rules: serviceRequestRules
})
