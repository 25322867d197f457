import { address, attachment, identifier, period } from '../datatypes/complex.js'
import { code } from '../datatypes/code.js'
import { concept } from '../datatypes/concept.js'
import { boolean, date } from '../datatypes/primitives.js'
import { firstName, lastName, nameRules, namePrefixes, nameSuffixes, storedFullName } from '../fields/human-name.js'
import { identifiers, npi, npiCheckDigit, npiSystem } from '../fields/identifiers.js'
import { fromFirstItem } from '../fields/list-items.js'
import { orText } from '../fields/other-forms.js'
import { referenceOrDisplay } from '../datatypes/reference.js'
import { email, phone } from '../fields/telecom.js'
import { byWords, noParameter } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { firstItemRule } from '../core/rule.js'
import { administrativeGender } from '../value-sets.js'

/** http://hl7.org/fhir/R4/practitioner.html */
export const practitioners = mapping('Practitioner', {
  path: 'practitioners',
  operation: 'createPractitioner',
  about: 'A person who provides care.',
  fields: {
    identifiers: identifiers(npiSystem),
    firstName: firstName({ filter: 'given', example: 'Grace', about: 'Required where there is no lastName.' }),
    lastName: lastName({ filter: 'family', example: 'Hopper', about: 'Required where there is no firstName.' }),
    prefix: namePrefixes(),
    suffix: nameSuffixes(),
    fullName: storedFullName({ about: 'The whole name as one text, where it was stored so.' }),
    npi: npi({
      filter: 'identifier',
      about: 'US National Provider Identifier, ten digits; a wrong check digit is a warning.'
    }),
    email: email('telecom', { filter: 'email' }),
    phone: phone('telecom', { filter: 'phone' }),
    gender: code(administrativeGender)('gender', { filter: 'gender' }),
    birthDate: date('birthDate'),
    address: address.first('address'),
    active: boolean('active', { default: true, filter: 'active' }),
    qualifications: backbone({
      name: concept('code', { required: true }),
      issuer: referenceOrDisplay(['Organization'])('issuer'),
      period: period('period'),
      identifier: orText(identifier, 'value').first('identifier')
    }).list('qualification'),
    languages: concept.list('communication'),
    photo: attachment.first('photo'),
    specialty: fromFirstItem(
      'qualification',
      concept('code', { shortcutOf: 'qualifications', filter: noParameter, about: 'The first qualification.' })
    )
  },
  filters: { name: byWords('name') },
  rules: [
    ...nameRules,
    firstItemRule({ field: 'specialty', list: 'qualification', part: 'code', full: 'qualifications' }),
    npiCheckDigit
  ]
})
