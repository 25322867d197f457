import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { text } from '../datatypes/primitives.js'
import { reference, typedReference, parseLocalReference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { email, phone } from '../fields/telecom.js'
import { byReference, from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import type { FhirElement } from '../fhir.js'
import { getAt, isElement, itemsAt } from '../core/path.js'
import { exists, type Rule } from '../core/rule.js'

const careTeamRules: readonly Rule[] = [
  {
    key: 'ctm-1',
    fields: ['participant'],
    message: 'onBehalfOfId is only for a member who is a Practitioner',
    holds: team =>
      itemsAt(team, 'participant').every(
        participant => !isElement(participant) || !exists(participant, 'onBehalfOf') || mayBePractitioner(participant)
      )
  }
]

/** R4 takes a member that cannot be looked up for a practitioner. */
function mayBePractitioner (participant: FhirElement): boolean {
  const member = parseLocalReference(getAt(participant, 'member.reference'))
  return member === undefined || member.startsWith('Practitioner/')
}

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
