import type { Rule } from '../kit/rule.js'
import { exists } from '../kit/exists.js'

export const appointmentResponseRules: readonly Rule[] = [
  {
    key: 'apr-1',
    fields: ['actorId', 'participantType'],
    says: 'one of actorId and participantType is needed',
    holds: response => exists(response, 'actor') || exists(response, 'participantType')
  }
]
