import { itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'

/** ppc-2 to ppc-5 request a patient, by scope; the simple form always has one. */
export const consentRules: readonly Rule[] = [
  {
    key: 'ppc-1',
    fields: ['policyUri', 'policies', 'policyRule'],
    message: 'a consent needs one of policyUri, policies and policyRule',
    holds: consent => itemsAt(consent, 'policy').length > 0 || consent.policyRule !== undefined
  }
]
