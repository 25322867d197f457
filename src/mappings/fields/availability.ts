import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { boolean, text, time } from '../datatypes/primitives.js'
import { backbone } from '../core/structure.js'
import { daysOfWeek } from '../value-sets.js'

/** When a service or a person is available in the course of a week. */
export const availableTime = backbone({
  daysOfWeek: code(daysOfWeek).list('daysOfWeek'),
  allDay: boolean('allDay'),
  availableStartTime: time('availableStartTime'),
  availableEndTime: time('availableEndTime')
})

/** A time, such as a holiday, for which the weekly one does not hold, and why. */
export const notAvailable = backbone({
  description: text('description', { required: true }),
  during: period('during')
})
