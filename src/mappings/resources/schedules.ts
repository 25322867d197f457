import { period } from '../datatypes/complex.js'
import { conceptOf } from '../datatypes/concept.js'
import { boolean, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { byReference, from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'

const actors = [
  'Practitioner',
  'Patient',
  'PractitionerRole',
  'RelatedPerson',
  'Device',
  'HealthcareService',
  'Location'
] as const
const kind = conceptOf({ max: 200 })

/** http://hl7.org/fhir/R4/schedule.html */
export const schedules = mapping('Schedule', {
  path: 'schedules',
  operation: 'createSchedule',
  about: 'The calendar of people or things whose time can be booked, made of slots.',
  fields: {
    identifiers: identifiers(),
    active: boolean('active', { filter: 'active' }),
    serviceCategory: kind.list('serviceCategory', {
      maxItems: 10,
      about: 'Broad kinds of services that can be booked.'
    }),
    serviceType: kind.list('serviceType', { maxItems: 10, filter: 'service-type' }),
    specialty: kind.list('specialty', { maxItems: 10, filter: 'specialty' }),
    actorIds: reference(actors).list('actor', { required: true, maxItems: 20, about: 'Whose time it is.' }),
    planningHorizon: period('planningHorizon'),
    comment: textUpTo(2000)('comment')
  },
  filters: { actorId: byReference('actor', ...actors), dateFrom: from('date'), dateTo: until('date') }
})
