import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const serviceRequestRules: readonly Rule[] = [
  {
    key: 'prr-1',
    fields: ['code'],
    message: 'cannot be removed while the request has order details',
    holds: request => !exists(request, 'orderDetail') || exists(request, 'code')
  }
]
