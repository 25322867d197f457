import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { boolean, dateTime } from '../datatypes/primitives.js'
import { quantity, range } from '../datatypes/quantities.js'
import { anyReference, reference } from '../datatypes/reference.js'
import { choice, hasChoice, isBoolean } from '../fields/choice.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { byReference, from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { requestIntent, requestPriority, requestStatus } from '../value-sets.js'
import { exists, rangeRule, type Rule } from '../core/rule.js'

const deviceRequestRules: readonly Rule[] = [
  {
    key: 'code[x] 1..1',
    fields: ['code', 'deviceId'],
    message: 'code or deviceId is required',
    holds: request => exists(request, 'code[x]')
  },
  rangeRule('valueRange', 'parameter')
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

const value = choice<unknown>('value', [
  { suffix: 'Boolean', codec: boolean.codec, is: isBoolean },
  { suffix: 'Quantity', codec: quantity.codec, is: hasChoice('value') },
  { suffix: 'Range', codec: range.codec, is: hasChoice('low', 'high') },
  { suffix: 'CodeableConcept', codec: concept.codec, is: () => true }
], { required: true, about: 'True or false, a Quantity, a Range, or a code or its words.' })

/** http://hl7.org/fhir/R4/devicerequest.html */
export const deviceRequests = mapping('DeviceRequest', {
  path: 'device-requests',
  operation: 'createDeviceRequest',
  about: 'An order for a device that a patient is to get or use.',
  fields: {
    identifiers: identifiers(),
    status: code(requestStatus)('status', { default: 'active', filter: 'status' }),
    intent: code(requestIntent)('intent', { required: true, default: 'order', filter: 'intent' }),
    code: concept('codeCodeableConcept', {
      required: true,
      choice: 'code',
      filter: 'code',
      about: 'The kind of device; deviceId can be used instead.'
    }),
    deviceId: reference('Device')('codeReference', {
      choice: 'code',
      filter: 'device',
      about: 'The specific device, instead of code.'
    }),
    patientId: reference(['Patient', 'Group', 'Location', 'Device'])('subject', {
      required: true,
      about: 'Whom or what the device is for.'
    }),
    priority: code(requestPriority)('priority'),
    authoredOn: dateTime('authoredOn', { default: now }),
    requesterId: reference(['Practitioner', 'PractitionerRole', 'Organization', 'Device'])('requester', {
      filter: 'requester'
    }),
    performerId: reference(performers)('performer', { filter: 'performer', about: 'Who is to provide the device.' }),
    performerType: concept('performerType'),
    encounterId: reference('Encounter')('encounter', { filter: 'encounter' }),
    reasonCode: concept.list('reasonCode'),
    basedOn: anyReference.list('basedOn', { about: 'The plans or orders that it fulfils, as Type/id.' }),
    parameter: backbone({ code: concept('code'), value }).list('parameter', {
      about: 'Details of the device, such as its size.'
    }),
    insuranceIds: reference(['Coverage', 'ClaimResponse']).list('insurance'),
    note: note('note'),
    occurrenceDateTime: dateTime('occurrenceDateTime', {
      choice: 'occurrence',
      about: 'When the device is to be used.'
    }),
    occurrencePeriod: period('occurrencePeriod', { choice: 'occurrence' })
  },
  filters: {
    patientId: byReference('patient', 'Patient'),
    authoredFrom: from('authored-on'),
    dateFrom: from('event-date'),
    dateTo: until('event-date')
  },
  rules: deviceRequestRules
})
