import { address, attachment } from '../datatypes/complex.js'
import { code } from '../datatypes/code.js'
import { concept } from '../datatypes/concept.js'
import { boolean, date, dateTime } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { choice, isBoolean, isText } from '../fields/choice.js'
import {
  contactFirstName,
  contactLastName,
  firstName,
  firstNamePrefix,
  firstNameSuffix,
  fullName,
  givenNameRule,
  lastName,
  middleName,
  nameRule
} from '../fields/human-name.js'
import { identifiers } from '../fields/identifiers.js'
import { email, phone } from '../fields/telecom.js'
import { byText, byWords } from '../core/filter.js'
import { isOrdered } from '../core/date-order.js'
import { mapping } from '../core/mapping.js'
import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { backbone } from '../core/structure.js'
import { administrativeGender } from '../value-sets.js'

const gender = code(administrativeGender)

const rules: readonly Rule[] = [
  {
    // Advice alone: a child that died before it was born has such dates.
    severity: 'warning',
    fields: ['birthDate', 'deceased'],
    message: 'the death is before the birth; check both',
    holds: patient => isOrdered(patient.birthDate, patient.deceasedDateTime)
  },
  {
    key: 'pat-1',
    fields: ['contact'],
    message: 'each contact needs a name, phone, email or address',
    holds: patient => itemsAt(patient, 'contact').every(contact =>
      isElement(contact) && ['name', 'telecom', 'address', 'organization'].some(part => contact[part] !== undefined))
  },
  nameRule,
  givenNameRule('middleName', 'needs firstName, which is not stored; send both, or remove both')
]

/** http://hl7.org/fhir/R4/patient.html */
export const patients = mapping('Patient', {
  path: 'patients',
  operation: 'createPatient',
  about: 'A person who receives care, now or in the past.',
  fields: {
    identifiers: identifiers(),
    firstName: firstName({ filter: 'given', example: 'Ada', about: 'Required where there is no lastName.' }),
    lastName: lastName({ filter: 'family', example: 'Byron', about: 'Required where there is no firstName.' }),
    middleName: middleName(),
    prefix: firstNamePrefix(),
    suffix: firstNameSuffix(),
    fullName: fullName({ about: 'The whole name as one text.' }),
    birthDate: date('birthDate', { filter: 'birthdate', example: '1990-03-14' }),
    gender: gender('gender', { filter: 'gender' }),
    email: email('telecom', { filter: 'email' }),
    phone: phone('telecom', { filter: 'phone' }),
    address: address.first('address'),
    active: boolean('active', { default: true, filter: 'active' }),
    deceased: choice<boolean | string>(
      'deceased',
      [
        { suffix: 'Boolean', codec: boolean.codec, is: isBoolean },
        { suffix: 'DateTime', codec: dateTime.codec, is: isText }
      ],
      { about: 'Whether the patient has died, or when.' }
    ),
    maritalStatus: concept('maritalStatus'),
    languages: backbone({ language: concept('language', { required: true }), preferred: boolean('preferred') }).list(
      'communication'
    ),
    contact: backbone({
      relationship: concept.first('relationship'),
      firstName: contactFirstName(),
      lastName: contactLastName(),
      phone: phone('telecom'),
      email: email('telecom'),
      address: address('address')
    }).list('contact', { about: 'Emergency contacts and next of kin.' }),
    generalPractitionerId: reference(['Practitioner', 'Organization', 'PractitionerRole']).first(
      'generalPractitioner',
      { filter: 'general-practitioner' }
    ),
    managingOrganizationId: reference('Organization')('managingOrganization', { filter: 'organization' }),
    photo: attachment.first('photo'),
    link: backbone({
      otherId: reference(['Patient', 'RelatedPerson'])('other', { required: true }),
      type: code(['replaced-by', 'replaces', 'refer', 'seealso'])('type', { required: true })
    }).list('link', { about: 'Merged records of the same person.' })
  },
  filters: { name: byWords('name'), city: byText('address-city'), postalCode: byText('address-postalcode') },
  rules
})
