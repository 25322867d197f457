import { address } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { boolean, text, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { contactFirstName, contactLastName } from '../fields/human-name.js'
import { identifiers } from '../fields/identifiers.js'
import { email, phone } from '../fields/telecom.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import type { FhirElement } from '../fhir.js'
import { isElement, itemsAt } from '../core/path.js'
import { exists, type Rule } from '../core/rule.js'

const organizationRules: readonly Rule[] = [
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

/** http://hl7.org/fhir/R4/organization.html */
export const organizations = mapping('Organization', {
  path: 'organizations',
  operation: 'createOrganization',
  about: 'A hospital, practice, department, insurer or another body of people.',
  fields: {
    identifiers: identifiers(),
    name: textUpTo(500)('name', { required: true, filter: 'name' }),
    active: boolean('active', { filter: 'active' }),
    type: concept.list('type', { filter: 'type' }),
    alias: text.list('alias'),
    phone: phone('telecom'),
    email: email('telecom'),
    address: address.first('address'),
    partOfId: reference('Organization')('partOf'),
    contact: backbone({
      purpose: concept('purpose'),
      firstName: contactFirstName(),
      lastName: contactLastName(),
      phone: phone('telecom'),
      email: email('telecom'),
      address: address('address')
    }).list('contact')
  },
  rules: organizationRules
})
