import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { boolean, text, time } from '../datatypes/primitives.js'
import { display, reference } from '../datatypes/reference.js'
import { availableTime, notAvailable } from '../fields/availability.js'
import { firstDisplay, fromFirstItem } from '../fields/list-items.js'
import { identifiers } from '../fields/identifiers.js'
import { email, phone } from '../fields/telecom.js'
import { byCode, byReference, from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { daysOfWeek } from '../value-sets.js'

const firstOfAvailableTime = {
  shortcutOf: 'availableTime',
  partOfItem: true,
  about: 'Of the first availableTime.'
} as const

/** http://hl7.org/fhir/R4/practitionerrole.html */
export const practitionerRoles = mapping('PractitionerRole', {
  path: 'practitioner-roles',
  operation: 'createPractitionerRole',
  about: 'What a practitioner does for an organization, where and when.',
  fields: {
    identifiers: identifiers(),
    practitionerId: reference('Practitioner')('practitioner', { required: true, filter: 'practitioner' }),
    organizationId: reference('Organization', { named: true })('organization', { filter: 'organization' }),
    organizationName: display(200)('organization', {
      displayOf: 'organizationId',
      about: 'The organization by name, with or without organizationId.'
    }),
    role: concept.list('code', { required: true, filter: 'role' }),
    specialty: concept.list('specialty', { filter: 'specialty' }),
    locationIds: reference('Location').list('location'),
    locationName: firstDisplay('location', {
      displayOf: 'locationIds',
      max: 200,
      about: 'The first location by name, with or without locationIds.'
    }),
    active: boolean('active', { default: true, filter: 'active' }),
    period: period('period'),
    phone: phone('telecom', { filter: 'phone' }),
    email: email('telecom', { filter: 'email' }),
    availableTime: availableTime.list('availableTime'),
    availableDays: fromFirstItem('availableTime', code(daysOfWeek).list('daysOfWeek', firstOfAvailableTime)),
    availableStartTime: fromFirstItem('availableTime', time('availableStartTime', firstOfAvailableTime)),
    availableEndTime: fromFirstItem('availableTime', time('availableEndTime', firstOfAvailableTime)),
    notAvailable: notAvailable.list('notAvailable'),
    availabilityExceptions: text('availabilityExceptions'),
    healthcareServiceIds: reference('HealthcareService').list('healthcareService')
  },
  filters: {
    locationId: byReference('location', 'Location'),
    status: { ...byCode('active'), aliases: { active: 'true', inactive: 'false' } },
    dateFrom: from('date'),
    dateTo: until('date')
  }
})
