import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const appointmentRules: readonly Rule[] = [
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
