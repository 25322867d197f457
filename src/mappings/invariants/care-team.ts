import type { FhirElement } from '../fhir.js'
import { at, isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { localReference } from '../datatypes/reference.js'
import { exists } from '../core/exists.js'

export const careTeamRules: readonly Rule[] = [
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
  const member = localReference(at(participant, 'member.reference'))
  return member === undefined || member.startsWith('Practitioner/')
}
