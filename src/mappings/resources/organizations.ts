import { address } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { boolean, text, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { contactFirstName, contactLastName } from '../fields/human-name.js'
import { identifiers } from '../fields/identifiers.js'
import { email, phone } from '../fields/telecom.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { organizationRules } from '../invariants/organization.js'

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
      email: email('telecom')
    }).list('contact')
  },
  rules: organizationRules
})
