import { code } from '../datatypes/code.js'
import { address } from '../datatypes/complex.js'
import { conceptOf } from '../datatypes/concept.js'
import { boolean, decimal, textUpTo, time } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { emailAddress, phone } from '../fields/telecom.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { daysOfWeek } from '../value-sets.js'

/** http://hl7.org/fhir/R4/location.html */
export const locations = mapping('Location', {
  path: 'locations',
  operation: 'createLocation',
  about: 'A building, ward, room, vehicle or another place of care.',
  fields: {
    identifiers: identifiers(),
    name: textUpTo(500)('name', { required: true, filter: 'name' }),
    status: code(['active', 'suspended', 'inactive'])('status', { filter: 'status' }),
    description: textUpTo(2000)('description'),
    mode: code(['instance', 'kind'])('mode', { about: 'One place, or a kind of place.' }),
    type: conceptOf({ max: 200 }).list('type', { maxItems: 10, filter: 'type' }),
    alias: textUpTo(200).list('alias', { maxItems: 10, about: 'Other names that it has or had.' }),
    phone: phone('telecom', { max: 20 }),
    email: emailAddress('telecom', { max: 200 }),
    address: address('address', { filter: 'address' }),
    physicalType: conceptOf({ max: 200 })('physicalType'),
    position: backbone({
      longitude: decimal('longitude', { required: true }),
      latitude: decimal('latitude', { required: true }),
      altitude: decimal('altitude')
    })('position', { about: 'Degrees and metres of WGS 84.' }),
    managingOrganizationId: reference('Organization')('managingOrganization'),
    partOfId: reference('Location')('partOf'),
    hoursOfOperation: backbone({
      daysOfWeek: code(daysOfWeek).list('daysOfWeek'),
      allDay: boolean('allDay'),
      openingTime: time('openingTime'),
      closingTime: time('closingTime')
    }).list('hoursOfOperation', { maxItems: 20, about: 'When it is open in the course of a week.' }),
    availabilityExceptions: textUpTo(2000)('availabilityExceptions')
  }
})
