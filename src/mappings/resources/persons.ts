import { code } from '../datatypes/code.js'
import { address, attachment } from '../datatypes/complex.js'
import { boolean, date } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { firstName, lastName, nameRules, storedFullName } from '../fields/human-name.js'
import { identifiers } from '../fields/identifiers.js'
import { emailAddress, phone } from '../fields/telecom.js'
import { byWords, noParameter } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { administrativeGender } from '../value-sets.js'

/** http://hl7.org/fhir/R4/person.html */
export const persons = mapping('Person', {
  path: 'persons',
  operation: 'createPerson',
  about: 'A human being independent of any role, who links the records of the same person.',
  fields: {
    identifiers: identifiers(),
    firstName: firstName({ max: 100, about: 'Required where there is no lastName.' }),
    lastName: lastName({ max: 100, about: 'Required where there is no firstName.' }),
    fullName: storedFullName({ about: 'The whole name as one text, where it was stored so.' }),
    phone: phone('telecom', { max: 20, filter: 'phone' }),
    email: emailAddress('telecom', { max: 200, filter: 'email' }),
    gender: code(administrativeGender)('gender'),
    birthDate: date('birthDate'),
    address: address.first('address'),
    photo: attachment('photo'),
    managingOrganizationId: reference('Organization')('managingOrganization'),
    active: boolean('active', { filter: noParameter }),
    link: backbone({
      targetId: reference(['Patient', 'Practitioner', 'RelatedPerson', 'Person'])('target', { required: true }),
      assurance: code(['level1', 'level2', 'level3', 'level4'])('assurance', {
        about: 'How certain it is that both are the same person.'
      })
    }).list('link', { maxItems: 20, about: 'The records of this person.' })
  },
  filters: { name: byWords('name') },
  rules: nameRules
})
