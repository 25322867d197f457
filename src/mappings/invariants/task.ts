import { isOrdered } from '../core/date-order.js'
import type { Rule } from '../core/rule.js'

export const taskRules: readonly Rule[] = [
  {
    key: 'inv-1',
    fields: ['authoredOn'],
    message: 'must not be after the time at which the task was last modified',
    holds: task => isOrdered(task.authoredOn, task.lastModified)
  }
]
