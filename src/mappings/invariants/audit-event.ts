import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const auditEventRules: readonly Rule[] = [
  {
    key: 'sev-1',
    fields: ['entity'],
    message: 'an entity has a name or a query, not both',
    holds: event =>
      itemsAt(event, 'entity').every(
        entity => !isElement(entity) || !exists(entity, 'name') || !exists(entity, 'query')
      )
  }
]
