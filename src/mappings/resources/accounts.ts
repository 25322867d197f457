import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { boolean, positiveInteger, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'

/** http://hl7.org/fhir/R4/account.html */
export const accounts = mapping('Account', {
  path: 'accounts',
  operation: 'createAccount',
  about: 'An account that collects charges, and who pays for them.',
  fields: {
    identifiers: identifiers(),
    status: code(['active', 'inactive', 'on-hold', 'entered-in-error', 'unknown'])('status', {
      required: true,
      filter: 'status'
    }),
    type: concept('type', { filter: 'type' }),
    name: textUpTo(500)('name'),
    patientId: reference('Patient').first('subject', { filter: 'patient' }),
    servicePeriod: period('servicePeriod'),
    coverage: backbone({
      coverageId: reference('Coverage')('coverage', { required: true }),
      priority: positiveInteger('priority', { about: 'Order in which the coverages pay, from 1.' })
    }).list('coverage'),
    ownerId: reference('Organization')('owner', { filter: 'owner' }),
    description: textUpTo(2000)('description'),
    guarantor: backbone({
      partyId: reference(['Patient', 'RelatedPerson', 'Organization'])('party', { required: true }),
      onHold: boolean('onHold'),
      period: period('period')
    }).list('guarantor'),
    partOfId: reference('Account')('partOf')
  }
})
