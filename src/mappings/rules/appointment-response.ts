import type { Rule } from '../kit/rule.js'
import { exists } from '../kit/exists.js'

export const appointmentResponseRules: readonly Rule[] = [
  {
    key: 'apr-1',
    fields: ['actorId', 'participantType'],
    says: 'actorId or participantType is required',
    holds: response => exists(response, 'actor') || exists(response, 'participantType')
  }
]
