import { concept } from '../datatypes/concept.js'
import { boolean, textUpTo } from '../datatypes/primitives.js'
import { display, reference } from '../datatypes/reference.js'
import { availableTime, notAvailable } from '../fields/availability.js'
import { identifiers } from '../fields/identifiers.js'
import { email, phone } from '../fields/telecom.js'
import { mapping } from '../core/mapping.js'

/** http://hl7.org/fhir/R4/healthcareservice.html */
export const healthcareServices = mapping('HealthcareService', {
  path: 'healthcare-services',
  operation: 'createHealthcareService',
  about: 'A service that an organization offers at its locations.',
  fields: {
    identifiers: identifiers(),
    name: textUpTo(500)('name', { required: true, filter: 'name' }),
    active: boolean('active', { filter: 'active' }),
    providedById: reference('Organization')('providedBy'),
    category: concept.list('category'),
    type: concept.list('type', { filter: 'service-type' }),
    specialty: concept.list('specialty', { filter: 'specialty' }),
    locationNames: display().list('location', { about: 'Where it is offered, by name.' }),
    comment: textUpTo(2000)('comment'),
    phone: phone('telecom'),
    email: email('telecom'),
    appointmentRequired: boolean('appointmentRequired'),
    availableTime: availableTime.list('availableTime'),
    notAvailable: notAvailable.list('notAvailable'),
    availabilityExceptions: textUpTo(1000)('availabilityExceptions'),
    program: concept.list('program'),
    referralMethod: concept.list('referralMethod'),
    communication: concept.list('communication', { about: 'The languages in which it is offered.' }),
    extraDetails: textUpTo(5000)('extraDetails')
  }
})
