import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { text } from '../datatypes/primitives.js'
import { reference, typedReference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { email, phone } from '../fields/telecom.js'
import { byReference, from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { careTeamRules } from '../invariants/care-team.js'

const members = ['Practitioner', 'PractitionerRole', 'RelatedPerson', 'Patient', 'Organization', 'CareTeam'] as const

/** http://hl7.org/fhir/R4/careteam.html */
export const careTeams = mapping('CareTeam', {
  path: 'care-teams',
  operation: 'createCareTeam',
  about: 'Those who care for a patient together.',
  fields: {
    identifiers: identifiers(),
    name: text('name', { required: true }),
    status: code(['proposed', 'active', 'suspended', 'inactive', 'entered-in-error'])('status', {
      default: 'active',
      filter: 'status'
    }),
    patientId: reference('Patient')('subject', { filter: 'patient' }),
    category: concept.list('category', { filter: 'category' }),
    encounterId: reference('Encounter')('encounter', { filter: 'encounter' }),
    period: period('period'),
    participant: backbone(
      {
        role: concept.first('role'),
        memberId: typedReference(members)('member'),
        onBehalfOfId: reference('Organization')('onBehalfOf'),
        period: period('period')
      },
      { identity: ['memberId'] }
    ).list('participant'),
    reasonCode: concept.list('reasonCode'),
    managingOrganizationIds: reference('Organization').list('managingOrganization'),
    phone: phone('telecom'),
    email: email('telecom'),
    note: note('note')
  },
  filters: { participantId: byReference('participant', ...members), dateFrom: from('date'), dateTo: until('date') },
  rules: careTeamRules
})
