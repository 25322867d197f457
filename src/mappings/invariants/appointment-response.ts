import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const appointmentResponseRules: readonly Rule[] = [
  {
    key: 'apr-1',
    fields: ['actorId', 'participantType'],
    message: 'actorId or participantType is required',
    holds: response => exists(response, 'actor') || exists(response, 'participantType')
  }
]
