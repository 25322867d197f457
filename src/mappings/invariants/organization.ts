import type { FhirElement } from '../fhir.js'
import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const organizationRules: readonly Rule[] = [
  {
    key: 'org-1',
    fields: ['name', 'identifiers'],
    message: 'an organization needs a name or an identifier',
    holds: organization => exists(organization, 'name') || exists(organization, 'identifier')
  },
  {
    key: 'org-2',
    fields: ['address'],
    message: 'an organization cannot have an address with use home',
    holds: organization => !hasHome(organization, 'address')
  },
  {
    key: 'org-3',
    fields: ['phone', 'email'],
    message: 'an organization cannot have a phone number or e-mail address with use home',
    holds: organization => !hasHome(organization, 'telecom')
  }
]

const hasHome = (organization: FhirElement, path: string): boolean =>
  itemsAt(organization, path).some(item => isElement(item) && item.use === 'home')
