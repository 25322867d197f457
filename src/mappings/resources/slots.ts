import { code } from '../datatypes/code.js'
import { conceptOf } from '../datatypes/concept.js'
import { boolean, instant, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'

const kind = conceptOf({ max: 200 })

/** http://hl7.org/fhir/R4/slot.html */
export const slots = mapping('Slot', {
  path: 'slots',
  operation: 'createSlot',
  about: 'A time in a schedule that can be booked.',
  fields: {
    identifiers: identifiers(),
    scheduleId: reference('Schedule')('schedule', { required: true, filter: 'schedule' }),
    status: code(['busy', 'free', 'busy-unavailable', 'busy-tentative', 'entered-in-error'])('status', {
      required: true,
      filter: 'status'
    }),
    start: instant('start', { required: true }),
    end: instant('end', { required: true, notBefore: 'start' }),
    serviceCategory: kind.first('serviceCategory'),
    serviceType: kind.first('serviceType', { filter: 'service-type' }),
    specialty: kind.first('specialty', { filter: 'specialty' }),
    appointmentType: kind('appointmentType'),
    overbooked: boolean('overbooked'),
    comment: textUpTo(2000)('comment')
  },
  filters: { dateFrom: from('start'), dateTo: until('start') }
})
