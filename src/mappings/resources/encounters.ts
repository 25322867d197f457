import { identifier, period } from '../datatypes/complex.js'
import { code, codingCode } from '../datatypes/code.js'
import { concept } from '../datatypes/concept.js'
import { positiveInteger } from '../datatypes/primitives.js'
import { display, reference } from '../datatypes/reference.js'
import { duration } from '../datatypes/quantities.js'
import { identifiers } from '../fields/identifiers.js'
import { inFirst, inMatchingItem } from '../fields/list-items.js'
import type { DefaultContext } from '../core/element.js'
import { from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { textAt } from '../core/path.js'
import { backbone } from '../core/structure.js'
import { encounterClasses } from '../value-sets.js'

const practitioner = reference('Practitioner')
const locationName = display(200)
const isPractitioner = (participant: object): boolean =>
  textAt(participant as never, 'individual.reference').startsWith('Practitioner/')
const startedNow = ({ now, simple }: DefaultContext) =>
  simple.status === 'in-progress' || simple.status === 'in_progress' ? { start: now } : undefined

/** http://hl7.org/fhir/R4/encounter.html */
export const encounters = mapping('Encounter', {
  path: 'encounters',
  operation: 'createEncounter',
  about: 'A visit or other contact of a patient with care providers.',
  fields: {
    identifiers: identifiers(),
    status: code([
      'planned',
      'arrived',
      'triaged',
      'in-progress',
      'onleave',
      'finished',
      'cancelled',
      'entered-in-error',
      'unknown'
    ])('status', { required: true, default: 'planned', filter: 'status' }),
    class: codingCode('http://terminology.hl7.org/CodeSystem/v3-ActCode', encounterClasses)('class', {
      required: true,
      default: 'AMB',
      filter: 'class'
    }),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    practitionerId: inMatchingItem(
      'participant',
      { find: isPractitioner },
      practitioner('individual', { filter: 'practitioner', shortcutOf: 'participants' })
    ),
    participants: backbone({
      practitionerId: reference(['Practitioner', 'PractitionerRole', 'RelatedPerson'])('individual', {
        required: true
      }),
      role: concept.first('type'),
      period: period('period')
    }).list('participant'),
    type: concept.list('type', { filter: 'type' }),
    serviceType: concept('serviceType'),
    priority: concept('priority'),
    reasonCode: concept.list('reasonCode', { filter: 'reason-code' }),
    period: period('period', { default: startedNow }),
    lengthMinutes: duration.minutes('length'),
    locationId: inFirst('location', reference('Location', { named: true })('location', { filter: 'location' })),
    location: inFirst(
      'location',
      locationName('location', {
        displayOf: 'locationId',
        about: 'The location by name, with or without locationId.'
      })
    ),
    serviceProviderId: reference('Organization', { named: true })('serviceProvider', { filter: 'service-provider' }),
    serviceProvider: display(200)('serviceProvider', {
      displayOf: 'serviceProviderId',
      about: 'The provider by name, with or without serviceProviderId.'
    }),
    appointmentId: reference('Appointment').first('appointment', { filter: 'appointment' }),
    diagnosis: backbone({
      conditionId: reference(['Condition', 'Procedure'], { named: true })('condition'),
      condition: display()('condition', {
        displayOf: 'conditionId',
        about: 'The condition in words, with or without conditionId.'
      }),
      use: concept('use'),
      rank: positiveInteger('rank')
    }, {
      schema: { anyOf: [{ required: ['conditionId'] }, { required: ['condition'] }] },
      where: diagnosis => diagnosis.condition !== undefined
    }).list('diagnosis', { about: 'Each by conditionId, in words, or both.' }),
    partOfId: reference('Encounter')('partOf'),
    hospitalization: backbone({
      preAdmissionIdentifier: identifier('preAdmissionIdentifier'),
      admitSource: concept('admitSource'),
      reAdmission: concept('reAdmission'),
      dietPreference: concept.list('dietPreference'),
      specialCourtesy: concept.list('specialCourtesy'),
      specialArrangement: concept.list('specialArrangement'),
      dischargeDisposition: concept('dischargeDisposition'),
      destinationId: reference(['Location', 'Organization'])('destination'),
      originId: reference(['Location', 'Organization'])('origin')
    })('hospitalization'),
    basedOnId: reference('ServiceRequest').first('basedOn')
  },
  filters: { dateFrom: from('date'), dateTo: until('date') }
})
