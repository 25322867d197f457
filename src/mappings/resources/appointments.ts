import { isElement, itemsAt, textAt } from '../core/path.js'
import { exists, type Rule } from '../core/rule.js'
import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { dateTime, instant, positiveInteger, text, unsignedInteger } from '../datatypes/primitives.js'
import { reference, typedReference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { inMatchingItem } from '../fields/list-items.js'
import type { FhirElement } from '../fhir.js'
import type { DefaultContext } from '../core/element.js'
import { byReference, from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { participationStatus } from '../value-sets.js'
import { datatype, type Datatype } from '../core/datatype.js'

const appointmentRules: readonly Rule[] = [
  {
    key: 'participant 1..*',
    fields: ['participants'],
    message: 'an appointment needs a participant',
    holds: appointment => itemsAt(appointment, 'participant').length > 0
  },
  {
    key: 'app-1',
    fields: ['participants'],
    message: 'each participant needs an actorId or a role',
    holds: appointment =>
      itemsAt(appointment, 'participant').every(
        participant => isElement(participant) && (exists(participant, 'type') || exists(participant, 'actor'))
      )
  },
  {
    key: 'app-2',
    fields: ['start', 'end'],
    message: 'send start and end together, or neither',
    holds: appointment => exists(appointment, 'start') === exists(appointment, 'end')
  },
  {
    key: 'app-3',
    fields: ['status', 'start', 'end'],
    message: 'only a proposed, cancelled or waitlist appointment can be without start and end',
    holds: appointment =>
      (exists(appointment, 'start') && exists(appointment, 'end')) ||
      ['proposed', 'cancelled', 'waitlist'].includes(appointment.status as string)
  },
  {
    key: 'app-4',
    fields: ['cancelationReason', 'status'],
    message: 'only a cancelled or noshow appointment has a cancelationReason',
    holds: appointment =>
      !exists(appointment, 'cancelationReason') || ['cancelled', 'noshow'].includes(appointment.status as string)
  }
]

const actors = [
  'Patient',
  'Practitioner',
  'PractitionerRole',
  'RelatedPerson',
  'Device',
  'HealthcareService',
  'Location'
] as const

const participant = withDefault(backbone({
  actorId: typedReference(actors)('actor'),
  status: code(participationStatus)('status', { about: 'If absent, accepted.' }),
  required: code(['required', 'optional', 'information-only'])('required'),
  role: concept.first('type')
}, { identity: ['actorId'] }), { status: 'accepted' })

/** The first participant of a type, who has accepted when added by id alone. */
const first = (type: string) => ({
  find: (item: FhirElement) => textAt(item, 'actor.reference').startsWith(`${type}/`),
  create: { status: 'accepted' }
})

const proposedUntilTimed = ({ simple }: DefaultContext) =>
  simple.start === undefined && simple.end === undefined ? 'proposed' : 'booked'

/** http://hl7.org/fhir/R4/appointment.html */
export const appointments = mapping('Appointment', {
  path: 'appointments',
  operation: 'createAppointment',
  about: 'A planned meeting and its participants.',
  fields: {
    identifiers: identifiers(),
    status: code([
      'proposed',
      'pending',
      'booked',
      'arrived',
      'fulfilled',
      'cancelled',
      'noshow',
      'entered-in-error',
      'checked-in',
      'waitlist'
    ])('status', { required: true, default: proposedUntilTimed, filter: 'status' }),
    patientId: inMatchingItem(
      'participant',
      first('Patient'),
      reference('Patient')('actor', { required: true, filter: 'patient', shortcutOf: 'participants' })
    ),
    practitionerId: inMatchingItem(
      'participant',
      first('Practitioner'),
      reference('Practitioner')('actor', { filter: 'practitioner', shortcutOf: 'participants' })
    ),
    locationId: inMatchingItem(
      'participant',
      first('Location'),
      reference('Location')('actor', { filter: 'location', shortcutOf: 'participants' })
    ),
    participants: participant.list('participant', {
      about: 'All participants, including the patient and the location.'
    }),
    start: instant('start'),
    end: instant('end', { notBefore: 'start' }),
    minutesDuration: positiveInteger('minutesDuration'),
    appointmentType: concept('appointmentType', { filter: 'appointment-type' }),
    serviceCategory: concept.first('serviceCategory'),
    serviceType: concept.list('serviceType', { filter: 'service-type' }),
    specialty: concept.list('specialty', { filter: 'specialty' }),
    reasonCode: concept.list('reasonCode'),
    description: text('description'),
    comment: text('comment'),
    patientInstruction: text('patientInstruction'),
    priority: unsignedInteger('priority', { about: 'Lower numbers are more urgent; 0 means no priority.' }),
    cancelationReason: concept('cancelationReason'),
    slotIds: reference('Slot').list('slot'),
    basedOnIds: reference('ServiceRequest').list('basedOn'),
    basedOnId: reference('ServiceRequest').first('basedOn', {
      shortcutOf: 'basedOnIds',
      about: 'The first of basedOnIds.'
    }),
    requestedPeriod: period.list('requestedPeriod'),
    created: dateTime('created')
  },
  filters: {
    actorId: byReference('actor', ...actors),
    slotId: byReference('slot', 'Slot'),
    dateFrom: from('date'),
    dateTo: until('date')
  },
  rules: appointmentRules
})

/**
 * A structure in which R4 requires a part that clients may leave out: it is filled in whenever the structure is
 * written.
 */
function withDefault<T extends object> ({ codec }: Datatype<T>, defaults: Partial<T>): Datatype<T> {
  const addDefaults = (value: T): T => ({ ...defaults, ...value })
  return datatype<T>({
    ...codec,
    accept: value => codec.accept?.(addDefaults(value)) ?? addDefaults(value),
    write: (value, before) => codec.write(addDefaults(value), before)
  })
}
