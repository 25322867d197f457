import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'
import { rangeRule } from './range.js'

export const deviceRequestRules: readonly Rule[] = [
  {
    key: 'code[x] 1..1',
    fields: ['code', 'deviceId'],
    message: 'code or deviceId is required',
    holds: request => exists(request, 'code[x]')
  },
  rangeRule('valueRange', 'parameter')
]
